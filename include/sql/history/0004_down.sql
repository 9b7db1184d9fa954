DROP TABLE host_speeds;
