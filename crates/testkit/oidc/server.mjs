// A real authorization server for tests, on a loopback port: `node server.mjs CONFIG.json`. Prints "ready" when it listens.
// Everything is in memory and nothing of it is secure: users have no passwords and the person at the browser is automatic.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { admin, PREFIX } from './admin.mjs';
import { Desk } from './desk.mjs';
import { Keys } from './keys.mjs';
import { person } from './person.mjs';
import { build } from './provider.mjs';
import { Vault } from './vault.mjs';

const config = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { settings } = config;
const vault = new Vault(settings);
const keys = new Keys(config.keys);
const desk = new Desk(settings);
const provider = await build(config, settings, vault, keys);
provider.use(desk.middleware());
provider.on('server_error', (ctx, error) => console.error('server error', error));

const protocol = provider.callback();
const behind = { [PREFIX]: admin(desk, vault, keys, settings), '/interaction/': person(provider, settings) };

async function handle(req, res) {
  const route = Object.keys(behind).find((prefix) => req.url.startsWith(prefix));
  return route ? behind[route](req, res) : protocol(req, res);
}

function serve(req, res) {
  handle(req, res).catch((error) => {
    console.error(req.url, error);
    res.statusCode = 500;
    res.end(String(error.stack));
  });
}

const server = config.tls
  ? https.createServer({ cert: readFileSync(config.tls.certificate), key: readFileSync(config.tls.key) }, serve)
  : http.createServer(serve);
server.listen(config.port, '127.0.0.1', () => console.log('ready'));
