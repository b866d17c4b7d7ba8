// What routes of the pages share: the session of a request, its form, and a page as the answer.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Page, pageText } from './layout.ts';
import type { Session } from './login.ts';

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | null;
  }
}

/** Answers with a page. */
export const send = (reply: FastifyReply, page: Page, status = 200): FastifyReply => {
  const { session } = reply.request;
  const logout = session?.canLogOut ? session.token : null;
  if (page.soon !== undefined) reply.header('refresh', String(page.soon));
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(pageText({ logout, ...page }));
};

/** The fields of a form that was sent. */
export const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();
