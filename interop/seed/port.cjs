// Lets the seed's client, which knows port 3095 alone, reach a gateway on any port: `SEED_PORT=4000 node -r ./port.cjs client.js`.
'use strict';
const net = require('node:net');
const connect = net.connect;
net.connect = (options, ...rest) =>
    connect(Number(options.port) === 3095 ? {...options, port: Number(process.env.SEED_PORT)} : options, ...rest);
