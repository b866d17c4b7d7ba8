// Items of a report that a test expects there.
import type { Report, ReportItem } from '../../../src/model/report.ts';

/** The item of a key; throws where the report has none. */
export const itemOf = ({ items }: Pick<Report, 'items'>, key: string): ReportItem => {
  const found = items.find((item) => item.key === key);
  if (!found) throw new Error(`no item ${key}`);
  return found;
};

/** The first resource; throws where the report has none. */
export const tableItem = ({ items }: Report): ReportItem => {
  const found = items.find(({ kind }) => kind === 'resource');
  if (!found) throw new Error('no resource');
  return found;
};
