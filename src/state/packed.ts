// Storage of large values: frequently read parts as JSON, a newline, then the rest as deflated JSON.
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/**
 * What most values have in common, the most frequent last. Stored values cannot be read without it, so it never changes;
 * a better one needs another separator.
 */
const dictionary = Buffer.from(
  [
    '"action":"reason":{"code":"","message":"","hint":null},"rejected":{"rows":0,"path":null},"removed":"missingSince":"notHeld":{},"fetched":{"url":"https://","etag":"lastModified":"finalUrl":"https://",',
    '"refused":{"sha256":"importFingerprint":"isReplaced":true,"good":{"fid":"","name":".csv","bytes":,"sha256":"","url":null,"rows":,"delimiter":","},"from":{"sha256":"","recipe":""}',
    '"source":{"bytes":,"sha256":"mtimeNs":"17","ctimeNs":"17","ino":"","hashedAt":17},"sourcePath":"/data/.csv","file":{"fid":"","name":".csv","bytes":,"sha256":"","url":null},"datastore":"imported","rows":',
    '"field_topic":{"und":[{"tid":"autocreate","name":"","vocabulary_machine_name":"dkan_topics"}]},"field_spatial":{"und":[{"wkt":"POLYGON(("}]},"field_spatial_geographical_cover":{"und":[{"value":"',
    '"field_granularity":"field_language":"og_group_ref":{"und":[{"target_id":""}]},"field_additional_info":{"und":[{"first":"","second":""}]},"field_data_dictionary":"field_data_dictionary_type":"field_conforms_to":',
    '"field_is_part_of":"field_related_content":"field_pod_theme":"field_rights":"field_temporal_coverage":{"und":[{"value":"2020-01-01 00:00:00","value2":"2020-12-31 00:00:00"}]},"field_format":{"und":[{"tid":"field_link_remote_file":',
    '"field_frequency":{"und":[{"value":"R/P1Y"}]},"field_license":{"und":[{"value":"cc-by"}]},"field_author":{"und":[{"value":""}]},"field_landing_page":{"und":[{"url":"https://www.',
    '"field_tags":{"und":[{"tid":"autocreate","name":"","vocabulary_machine_name":"tags"},{"tid":"autocreate","name":"","vocabulary_machine_name":"tags"}]},"field_contact_name":{"und":[{"value":""}]},"field_contact_email":{"und":[{"value":"@',
    '"field_public_access_level":{"und":[{"value":"public"}]},"field_modified_source_date":{"und":[{"value":"2026-01-01 00:00:00"}]},',
    '"order":[],"next":[],"verify":false,"frozen":false,"refused":null,"removal":null,"onDrift":"hold","createMissing":false,"resources":["actions":["created","attached","imported"],"unproven":null,"attempts":1,"ms":',
    '"ended":{"nid":"","uuid":"","outcome":"done","live":true,"stale":false,"rows":null,"file":null,"warnings":[],"jobId":null,"why":"not on the portal yet","wish":{"datasetKey":"import":"auto","source":{"kind":"link","url":"https://',
    '{"title":"","published":true,"fields":{"field_link_api":{"und":[{"url":"https://www."}]}}}{"title":"Dataset ","published":true,"fields":{"body":{"und":[{"value":"","format":"html"}]},"',
    '{"title":"Dataset ","fieldNames":["body","field_tags","field_license","field_contact_name","field_contact_email","field_author","field_frequency","field_public_access_level","field_landing_page","field_modified_source_date"],"links":["',
    '{"title":"","vid":"1","changed":"17","url":"http://www./dataset/resource/","fieldNames":["field_link_api"],"metadataFingerprint":"","baseline":{},"runId":"2026',
  ].join(''),
);

/** Values are small: with room for large ones, a call takes twice as long. */
const settings = { dictionary, windowBits: 13, memLevel: 5, chunkSize: 1024 };

const separator = 10; // a newline, which never is in JSON on one line

/** A value as it is stored. {@link unpackHead} reads `head` without the rest. */
export const pack = (rest: object, head?: object): Buffer =>
  Buffer.concat([Buffer.from(`${head ? JSON.stringify(head) : ''}\n`), deflateRawSync(JSON.stringify(rest), settings)]);

/** What was packed as `head`; of a value that an earlier version stored as plain JSON, all of it. */
export const unpackHead = (value: Buffer): unknown => {
  const end = value.indexOf(separator);
  return JSON.parse(value.toString('utf8', 0, end < 0 ? value.length : end));
};

/** Head and rest of what was packed as one object; also reads values that an earlier version stored as plain JSON. */
export const unpack = (value: Buffer): object => {
  const end = value.indexOf(separator);
  if (end < 0) return JSON.parse(value.toString());
  const rest: object = JSON.parse(inflateRawSync(value.subarray(end + 1), settings).toString());
  return end === 0 ? rest : Object.assign(JSON.parse(value.toString('utf8', 0, end)), rest);
};

/** Stands for the uuid that follows from the key of an item; no stored text holds it otherwise. */
const ownUuid = '\u0000';

const replaceIn = <T extends Record<string, unknown>>(item: T, from: string, to: string): T => {
  const copy: Record<string, unknown> = { ...item };
  for (const name of ['uuid', 'url', 'jobId']) {
    const text = copy[name];
    if (typeof text === 'string') copy[name] = text.replaceAll(from, to);
  }
  return copy as T; // a text stays a text
};

/** An item as it is stored: without the uuid that follows from its key, which no compression makes smaller. */
export const withoutOwnUuid = <T extends Record<string, unknown>>(uuid: string, item: T): T =>
  replaceIn(item, uuid, ownUuid);

/** What {@link withoutOwnUuid} was made from. */
export const withOwnUuid = <T extends Record<string, unknown>>(uuid: string, item: T): T =>
  replaceIn(item, ownUuid, uuid);
