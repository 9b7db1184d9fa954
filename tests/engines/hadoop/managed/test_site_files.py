"""Where the masters of a Hadoop are, from what its owner hands out to clients."""

from __future__ import annotations

import pytest

from clusterbench.base.errors import EngineError
from clusterbench.engines.hadoop.daemons import JOBHISTORY, NAMENODE, RESOURCEMANAGER
from clusterbench.engines.hadoop.managed.site_files import client_configuration


def site(**settings: str) -> str:
    named = {name.replace("__", "-").replace("_", "."): value for name, value in settings.items()}
    return f"<configuration>{''.join(_property(*each) for each in named.items())}</configuration>"


def _property(name: str, value: str) -> str:
    return f"<property><name>{name}</name><value>{value}</value></property>"


SMALL = {
    "core-site.xml": site(fs_defaultFS="hdfs://nn.example:8020"),
    "yarn-site.xml": site(yarn_resourcemanager_hostname="rm.example"),
    "mapred-site.xml": site(mapreduce_jobhistory_address="jhs.example:10020"),
}
TWO_NAMENODES = {
    "core-site.xml": site(fs_defaultFS="hdfs://big"),
    "hdfs-site.xml": site(
        dfs_nameservices="big",
        dfs_ha_namenodes_big="nn1, nn2",
        **{
            "dfs_namenode_http__address_big_nn1": "m1.example:50070",
            "dfs_namenode_rpc__address_big_nn2": "m2.example:8020",
        },
    ),
}


def test_ports_that_are_not_said_are_hadoops_own() -> None:
    found = client_configuration(SMALL)
    assert found.masters(NAMENODE) == ["http://nn.example:9870"]
    assert found.masters(RESOURCEMANAGER) == ["http://rm.example:8088"]
    assert found.masters(JOBHISTORY) == ["http://jhs.example:19888"]


def test_address_that_stands_for_any_is_that_of_the_master() -> None:
    hdfs = site(**{"dfs_namenode_http__address": "0.0.0.0:50070"})
    assert client_configuration(SMALL | {"hdfs-site.xml": hdfs}).masters(NAMENODE) == ["http://nn.example:50070"]


def test_of_several_namenodes_each_has_its_own_address() -> None:
    found = client_configuration(SMALL | TWO_NAMENODES)
    assert found.masters(NAMENODE) == ["http://m1.example:50070", "http://m2.example:9870"]


def test_several_resourcemanagers_are_known_by_their_ids() -> None:
    yarn = site(
        yarn_resourcemanager_ha_enabled="true",
        **{
            "yarn_resourcemanager_ha_rm__ids": "rm1,rm2",
            "yarn_resourcemanager_hostname_rm1": "a.example",
            "yarn_resourcemanager_webapp_address_rm2": "b.example:8188",
        },
    )
    found = client_configuration({**SMALL, "yarn-site.xml": yarn})
    assert found.masters(RESOURCEMANAGER) == ["http://a.example:8088", "http://b.example:8188"]


def test_where_only_tls_is_spoken_addresses_are_those_of_tls() -> None:
    only = {"dfs_http_policy": "HTTPS_ONLY", "dfs_namenode_https__address": "nn.example:9871"}
    yarn = {"yarn_http_policy": "HTTPS_ONLY", "yarn_resourcemanager_hostname": "rm.example"}
    found = client_configuration({**SMALL, "hdfs-site.xml": site(**only), "yarn-site.xml": site(**yarn)})
    assert found.masters(NAMENODE) == ["https://nn.example:9871"]
    assert found.masters(RESOURCEMANAGER) == ["https://rm.example:8090"]
    assert found.masters(JOBHISTORY) == ["http://jhs.example:19888"]


def test_variables_are_put_in_and_unknown_ones_stay() -> None:
    found = client_configuration({"core-site.xml": site(base="/data/${name}", name="x", other="${user.name}/y")})
    assert (found.get("base"), found.get("other")) == ("/data/x", "${user.name}/y")


def test_what_a_client_does_not_know_is_said_with_the_settings_that_would_tell() -> None:
    with pytest.raises(EngineError, match=r"does not name the ResourceManager .* yarn.resourcemanager.hostname"):
        client_configuration({"core-site.xml": SMALL["core-site.xml"]}).masters(RESOURCEMANAGER)
    with pytest.raises(EngineError, match=r"hdfs-site.xml of the client's configuration is not XML"):
        client_configuration({"hdfs-site.xml": "<configuration>"})
