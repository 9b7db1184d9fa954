import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;

import org.apache.hadoop.net.StandardSocketFactory;

/**
 * For the lab only. Its hosts are addresses of one machine, and a connection from there to another of them would come
 * from 127.0.0.1, as which the NameNode would then know every DataNode. So each process speaks from the address of its
 * host, which the lab's sshd puts into the environment.
 */
public class OwnAddressSocketFactory extends StandardSocketFactory {
  @Override
  public Socket createSocket() throws IOException {
    Socket socket = super.createSocket();
    String address = System.getenv("CLUSTERBENCH_ADDRESS");
    if (address != null) {
      socket.bind(new InetSocketAddress(address, 0));
    }
    return socket;
  }
}
