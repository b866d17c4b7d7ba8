// Values as YAML text, for the manifests that sluice writes.
import { dump } from 'js-yaml';

/** One item of a list, such as it stands below its key; texts are not folded. */
export const yamlItem = (value: unknown): string => dump([value], { lineWidth: -1, noRefs: true });
