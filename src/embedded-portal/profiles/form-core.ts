// Core properties of a node as the editing form takes them: release C for all types, A and B for groups and pages.
import { may } from '../access.ts';
import { textOf } from '../content/items.ts';
import { escapeHtml } from '../refusal.ts';
import { readFormFields } from './form-input.ts';
import { em } from './form-widgets.ts';
import type { CoreChanges, FieldChanges, ReadContext } from './profile.ts';
import { titleFault } from './recorded-faults.ts';

const longestTitle = 255;

const titleErrors = (body: Record<string, unknown>, { node }: ReadContext): Record<string, string> => {
  if (node !== null && !('title' in body)) return {};
  const title = textOf(body.title) ?? '';
  if (title === '') return { title: 'Title field is required.' };
  const { length } = [...title];
  if (length <= longestTitle) return {};
  return {
    title: `Title cannot be longer than <em class="placeholder">${longestTitle}</em> characters but is currently <em class="placeholder">${length}</em> characters long.`,
  };
};

const authorOf = (body: Record<string, unknown>, { store, user }: ReadContext): { uid?: number; error?: string } => {
  const name = textOf(body.name) ?? '';
  if (name === '' || !may(user, 'administer nodes')) return {};
  const author = store.users.byName(name);
  return author === null
    ? { error: `The username <em class="placeholder">${escapeHtml(name)}</em> does not exist.` }
    : { uid: author.uid };
};

/** A group's title is its own. */
const groupErrors = (body: Record<string, unknown>, { store, node, type }: ReadContext): Record<string, string> => {
  const title = textOf(body.title) ?? '';
  const taken =
    type === 'group' && title !== '' && store.nodes.byTitle('group', title).some((nid) => nid !== node?.nid);
  if (!taken) return {};
  return { title: `A group with title ${em(title)} exists on the site. Please use another title.` };
};

const coreErrors = (body: Record<string, unknown>, context: ReadContext): Record<string, string> => {
  const { error } = authorOf(body, context);
  return {
    ...groupErrors(body, context),
    ...titleErrors(body, context),
    ...(error === undefined ? {} : { name: error }),
  };
};

const createdOf = (body: Record<string, unknown>): { created?: number } => {
  const time = Date.parse((textOf(body.date) ?? '').replace(/ ([+-]\d{4})$/, '$1').replace(' ', 'T'));
  return Number.isNaN(time) ? {} : { created: Math.floor(time / 1000) };
};

/** Core properties as the form takes them: a status other than null, uid, uuid and created are ignored, the log is emptied by every update. */
export const readFormCore = (body: Record<string, unknown>, context: ReadContext): CoreChanges => {
  const { node, user } = context;
  const errors = coreErrors(body, context);
  const title = textOf(body.title) ?? '';
  const fault = 'title' in errors ? null : titleFault(title);
  if (fault !== null) throw fault;
  const isAdmin = may(user, 'administer nodes');
  const checked = (name: 'promote' | 'sticky'): Partial<CoreChanges> =>
    name in body && body[name] !== null && (isAdmin || name === 'promote') ? { [name]: 1 } : {};
  const { uid } = authorOf(body, context);
  const language = textOf(body.language);
  return {
    ...(title === '' ? {} : { title }),
    ...(body.status === null ? { status: 0 } : {}),
    ...(node === null ? { uid: uid ?? user.uid, language: language ?? 'und' } : uid === undefined ? {} : { uid }),
    ...(isAdmin ? createdOf(body) : {}),
    ...checked('promote'),
    ...checked('sticky'),
    log: textOf(body.log) ?? '',
  };
};

/** Fields as the form takes them, its errors beside those of the core properties. */
export const readFormNode = (body: Record<string, unknown>, context: ReadContext): FieldChanges =>
  readFormFields(body, context, coreErrors(body, context));
