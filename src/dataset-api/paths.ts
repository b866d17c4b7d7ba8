// The paths of the Dataset REST API, relative to the portal's address.

/** Prefix of every service path (spec 1). */
export const apiPrefix = '/api/dataset';

/** Paths by what they address; ids are node ids (`nid`) unless said otherwise. */
export const paths = {
  login: `${apiPrefix}/user/login`,
  logout: `${apiPrefix}/user/logout`,
  sessionToken: '/services/session/token',
  nodes: `${apiPrefix}/node`,
  node: (nid: string): string => `${apiPrefix}/node/${encodeURIComponent(nid)}`,
  attachFile: (nid: string): string => `${apiPrefix}/node/${encodeURIComponent(nid)}/attach_file`,
  datastore: (nid: string): string => `${apiPrefix}/datastore/${encodeURIComponent(nid)}`,
  datastoreImport: (nid: string): string => `${apiPrefix}/datastore/${encodeURIComponent(nid)}/import`,
  terms: `${apiPrefix}/taxonomy_term`,
  /** Not part of the service: reads the rows of a datastore, addressed by the resource's uuid. */
  datastoreSearch: '/api/action/datastore/search.json',
} as const;

/** Largest page of a list (spec 8). */
export const maxPageSize = 20;
