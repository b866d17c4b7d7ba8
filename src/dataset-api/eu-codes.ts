// Entries of the authority lists of the European Union (publications.europa.eu/resource/authority) for values of the API.
import { catalogueAccess } from './values.ts';

const pairs = (text: string): [string, string][] =>
  text.split(/,\s+/).map((pair) => pair.split(' ') as [string, string]);

const accessRights: [string, string][] = [
  [catalogueAccess.public, 'PUBLIC'],
  [catalogueAccess.restricted, 'RESTRICTED'],
  [catalogueAccess.private, 'NON_PUBLIC'],
];

/** Each our value and the last part of the address of the entry; of two entries for one value the first is the usual one. */
const lists = {
  'access-right': accessRights,
  frequency: pairs(`R/PT1S CONT, R/PT1S UPDATE_CONT, R/PT1H HOURLY, R/P1D DAILY, R/P0.33W WEEKLY_3, R/P3.5D WEEKLY_2,
    R/P0.5W WEEKLY_2, R/P1W WEEKLY, R/P2W BIWEEKLY, R/P0.33M MONTHLY_3, R/P0.5M MONTHLY_2, R/P1M MONTHLY, R/P2M BIMONTHLY,
    R/P3M QUARTERLY, R/P4M ANNUAL_3, R/P6M ANNUAL_2, R/P1Y ANNUAL, R/P2Y BIENNIAL, R/P3Y TRIENNIAL, R/P4Y QUADRENNIAL,
    R/P10Y DECENNIAL, irregular IRREG`),
  language:
    pairs(`bg BUL, cs CES, da DAN, de DEU, el ELL, en ENG, et EST, fi FIN, fr FRA, ga GLE, hr HRV, hu HUN, it ITA,
    lv LAV, lt LIT, mt MLT, nl NLD, pl POL, pt POR, ro RON, sk SLK, sl SLV, es SPA, sv SWE`),
};

export type EuList = keyof typeof lists;

/** Our value for the last part of the address of an entry; undefined for one that we have none for. */
export const fromEuCode = (list: EuList, code: string): string | undefined =>
  lists[list].find(([, each]) => each === code)?.[0];

/** The address of the entry for our value; undefined where the list has none. */
export const euAddress = (list: EuList, value: string): string | undefined => {
  const code = lists[list].find(([each]) => each === value)?.[1];
  return code && `http://publications.europa.eu/resource/authority/${list}/${code}`;
};
