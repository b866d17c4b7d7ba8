// Loaded before `sluice`: SIGUSR2 makes an unexpected error, as FAULT says; what listens can never be closed.
import { Server } from 'node:net';

setInterval(() => undefined, 60_000); // something is always left open
Server.prototype.close = function close() {
  return this;
};
process.on('SIGUSR2', () => {
  if (process.env.FAULT === 'rejection') void Promise.reject(new TypeError('on purpose'));
  else setImmediate(() => JSON.parse('not JSON, on purpose'));
});
