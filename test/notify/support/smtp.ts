// A small mail server (RFC 5321, AUTH PLAIN of RFC 4954) that keeps what it is sent.
import { createServer, type Socket } from 'node:net';
import { afterAll } from 'vitest';

/** A message as it came. */
export interface Mail {
  from: string;
  to: string[];
  /** Headers and text, dots unstuffed. */
  data: string;
  /** `user password`, null without a login. */
  login: string | null;
}

/** See the head of this file. */
export interface MailServer {
  port: number;
  mails: Mail[];
  /** `user password` of every login that was tried. */
  logins: string[];
  /** Answer to every recipient; begin it with 5 to refuse. */
  answer: string;
  /** Words of the greeting's capabilities. */
  offers: string[];
}

/** Listens on a free port; closed after the test file. */
export const openMailServer = async (): Promise<MailServer> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    talk(socket, mailServer);
  });
  const mailServer: MailServer = { port: 0, mails: [], logins: [], answer: '250 ok', offers: ['AUTH PLAIN'] };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  mailServer.port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return mailServer;
};

/** Answers by the first four letters of a command; others are accepted. */
const replies: Record<string, (line: string, mail: Mail, server: MailServer) => string[]> = {
  EHLO: (_line, _mail, { offers }) =>
    ['here', ...offers].map((text, at) => `250${at < offers.length ? '-' : ' '}${text}`),
  STAR: () => ['502 no TLS here'],
  AUTH: (line, mail, server) => {
    const [, user = '', password = ''] = Buffer.from(line.slice('AUTH PLAIN '.length), 'base64').toString().split('\0');
    mail.login = `${user} ${password}`;
    server.logins.push(mail.login);
    return [password === 'wrong' ? '535 bad credentials' : '235 welcome'];
  },
  MAIL: (line, mail) => {
    mail.from = line;
    return ['250 ok'];
  },
  RCPT: (line, mail, { answer }) => {
    if (answer.startsWith('2')) mail.to.push(/<(.*?)>/.exec(line)?.[1] ?? '');
    return [answer];
  },
  DATA: () => ['354 go on'],
  QUIT: () => ['221 bye'],
};

const talk = (socket: Socket, server: MailServer): void => {
  const mail: Mail = { from: '', to: [], data: '', login: null };
  let isData = false;
  let rest = '';
  const say = (lines: string[]): void => void socket.write(lines.map((line) => `${line}\r\n`).join(''));
  const take = (line: string): void => {
    if (isData && line !== '.') {
      mail.data += `${line.replace(/^\./, '')}\n`;
    } else if (isData) {
      isData = false;
      server.mails.push(mail);
      say(['250 taken']);
    } else {
      const word = line.slice(0, 4).toUpperCase();
      isData = word === 'DATA';
      say(replies[word]?.(line, mail, server) ?? ['250 ok']);
      if (word === 'QUIT') socket.end();
    }
  };
  say(['220 here']);
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
};
