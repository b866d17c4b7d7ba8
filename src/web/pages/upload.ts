// The field that uploads a fixed file in the place of a faulty one, and what it is sent to.
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SourceRefusedError, UsageError } from '../../model/errors.ts';
import { replaceDropped } from '../../service/actions.ts';
import type { Runtime } from '../../service/runtime.ts';
import { clientAddress, isOwnOrigin } from '../../util/connections.ts';
import { type Html, html, sizeWords } from '../../util/html.ts';
import { itemPath, type Session, tokenField } from './layout.ts';
import { isToken } from './login.ts';

/** The form for an item whose file was set aside. The token comes first: what comes without it is not read. */
export const uploadHtml = (key: string, session: Session): Html =>
  html`<form action="${itemPath(key).replace('/item/', '/drop/')}" method="post" enctype="multipart/form-data">
${tokenField(session.token)}
<p><label for="file">Upload the fixed file, which is published as if it was dropped again</label><br>
<input type="file" id="file" name="file" required> <button class="main">Upload</button></p>
</form>`;

export const uploadRoute = (app: FastifyInstance, runtime: Runtime): void => {
  app.addContentTypeParser('multipart/form-data', (_request, payload, done) => done(null, payload));
  app.post('/drop/*', async (request, reply) => {
    const key = String((request.params as { '*'?: string })['*']);
    const { log, config } = runtime;
    if (!isOwnOrigin(request.raw, config.web.publicUrl)) throw outdated();
    await firstFile(request, config.sources.maxBytes, async (name, content) => {
      log.info({ action: 'act', address: clientAddress(request), path: request.url }, 'an operator acts');
      await replaceDropped(runtime, key, { name, content });
    });
    return reply.redirect(itemPath(key), 303);
  });
};

const outdated = (): UsageError => new UsageError('this form is outdated', { hint: 'open the page again' });

/** Hands the file of a form over while it arrives, once the token before it is right. */
const firstFile = async (
  { headers, body, session }: FastifyRequest,
  fileSize: number,
  take: (name: string, content: Readable) => Promise<void>,
): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const busboy = new Busboy({
    headers: headers as BusboyHeaders, // fastify has seen that it is multipart/form-data
    limits: { fields: 1, fieldSize: 200, files: 1, fileSize },
  });
  let isMeant = false;
  let file: Readable | null = null;
  busboy.on('field', (name, value) => {
    isMeant = name === 'token' && session !== null && isToken(value, session);
  });
  busboy.on('file', (_part, stream, name) => {
    file = stream;
    stream.on('error', reject);
    const hint = 'put it into the inbox by other means';
    stream.once('limit', () =>
      stream.destroy(new SourceRefusedError(`${name} is larger than ${sizeWords(fileSize)}`, { hint })),
    );
    const taken = isMeant ? take(name, stream) : Promise.reject(outdated());
    taken.then(resolve, reject).finally(() => stream.resume());
  });
  busboy.on('finish', () => file ?? reject(outdated()));
  pipeline(body as Readable, busboy).catch((error: unknown) => {
    file?.destroy(error as Error);
    reject(error);
  });
  await promise;
};
