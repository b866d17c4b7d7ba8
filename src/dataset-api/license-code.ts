// The addresses of licenses, to the codes that portals know.
import { type License, licenses } from './values.ts';

/** Addresses without scheme, `www.`, version and ending, with the code they stand for; the first that begins an address wins. */
const addresses: readonly (readonly [string, License])[] = [
  ['creativecommons.org/licenses/by-sa', 'cc-by-sa'],
  ['creativecommons.org/licenses/by-nc', 'cc-nc'],
  ['creativecommons.org/licenses/by', 'cc-by'],
  ['creativecommons.org/publicdomain/zero', 'cc-zero'],
  ['creativecommons.org/publicdomain/mark', 'other-pd'],
  ['creativecommons.org/licenses/publicdomain', 'other-pd'],
  ['opendatacommons.org/licenses/by', 'odc-by'],
  ['opendatacommons.org/licenses/odbl', 'odc-odbl'],
  ['opendatacommons.org/licenses/pddl', 'odc-pddl'],
  ['opendefinition.org/licenses/cc-by-sa', 'cc-by-sa'],
  ['opendefinition.org/licenses/cc-by', 'cc-by'],
  ['opendefinition.org/licenses/cc-zero', 'cc-zero'],
  ['opendefinition.org/licenses/odc-by', 'odc-by'],
  ['opendefinition.org/licenses/odc-odbl', 'odc-odbl'],
  ['opendefinition.org/licenses/odc-pddl', 'odc-pddl'],
  ['nationalarchives.gov.uk/doc/open-government-licence', 'uk-ogl'],
  ['gnu.org/licenses/fdl', 'gfdl'],
  ['gnu.org/copyleft/fdl', 'gfdl'],
  ['usa.gov/government-works', 'other-pd'],
  ['usa.gov/publicdomain', 'other-pd'],
];

/** The code of a license given by address or code; null for one that portals have no code for. */
export const licenseCode = (text: string): License | null => {
  const plain = text.trim().toLowerCase();
  if (Object.hasOwn(licenses, plain)) return plain as License; // just checked
  const address = plain.replace(/^https?:\/\/(?:www\.)?/, '');
  return addresses.find(([begin]) => begins(variants(address), begin))?.[1] ?? null;
};

/** `by` must not match `by-nd`: the name ends where the address goes on with a slash, a point, or not at all. */
const begins = (address: string, begin: string): boolean =>
  address.startsWith(begin) && /^(?:$|[/.#?])/.test(address.slice(begin.length));

/** The variants of non-commercial licenses count as one. */
const variants = (address: string): string => address.replace(/\/by-nc-(?:sa|nd)(?=$|\/)/, '/by-nc');
