// Permissions of roles of the embedded portal (recorded behaviour 14).

/** Every permission; the configuration names them, the embedded portal obeys them. */
export const permissions = [
  'create content',
  'edit own content',
  'edit any content',
  'manage datastore',
  'create other content',
  'administer nodes',
  'unlimited lists',
  'administer users',
] as const;

/** A permission of {@link permissions}. */
export type Permission = (typeof permissions)[number];
