// The parts of a Frictionless Data Package (v1 and v2) that are understood. Whatever else stands in one is told or passed over.
import { z } from 'zod';

const text = z.string();

const license = z.looseObject({ name: text.exactOptional(), path: text.exactOptional(), title: text.exactOptional() });

const contributor = z.looseObject({
  title: text.exactOptional(),
  givenName: text.exactOptional(),
  familyName: text.exactOptional(),
  organization: text.exactOptional(),
  email: text.exactOptional(),
  role: text.exactOptional(),
  roles: z.array(text).exactOptional(),
});

const source = z.looseObject({ title: text.exactOptional(), path: text.exactOptional() });

/** One resource of a package. */
export const packageResourceSchema = z.looseObject({
  name: text.exactOptional(),
  title: text.exactOptional(),
  description: text.exactOptional(),
  path: z.union([text, z.array(text).min(1)]).exactOptional(),
  format: text.exactOptional(),
  encoding: text.exactOptional(),
  dialect: z.unknown().exactOptional(),
  schema: z.unknown().exactOptional(),
});

/** `datapackage.json`. */
export const packageSchema = z.looseObject({
  name: text.exactOptional(),
  id: text.exactOptional(),
  title: text.exactOptional(),
  description: text.exactOptional(),
  homepage: text.exactOptional(),
  version: text.exactOptional(),
  created: text.exactOptional(),
  keywords: z.array(text).exactOptional(),
  licenses: z.array(license).exactOptional(),
  contributors: z.array(contributor).exactOptional(),
  sources: z.array(source).exactOptional(),
  resources: z.array(packageResourceSchema).min(1),
});

/** See {@link packageSchema}. */
export type PackageFile = z.infer<typeof packageSchema>;
/** See {@link packageResourceSchema}. */
export type PackageResource = z.infer<typeof packageResourceSchema>;
