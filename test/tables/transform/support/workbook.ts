// Workbooks (.xlsx) made for a test, part by part as ECMA-376 says.
import { zipOf } from './zip.ts';

/** A value of a cell; null: the cell is not there. */
export type Value = string | number | boolean | Date | null;

/** How a workbook differs from a plain one with one sheet. */
export interface WorkbookOptions {
  /** Sheets beside the first, by name. */
  more?: Record<string, Value[][]>;
  name?: string;
  hidden?: string[];
  since1904?: boolean;
  /** Changes of the parts. */
  parts?: Record<string, string>;
}

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const letters = (column: number): string =>
  (column >= 26 ? letters(Math.floor(column / 26) - 1) : '') + String.fromCharCode(65 + (column % 26));

/** Text is shared, as the usual programs write it; dates have style 1, dates with time style 2. */
const cellOf = (value: Value, place: string, shared: string[]): string => {
  if (value === null) return '';
  if (typeof value === 'number') return `<c r="${place}"><v>${value}</v></c>`;
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`;
  if (value instanceof Date) {
    const serial = value.getTime() / 86_400_000 + 25_569;
    return `<c r="${place}" s="${Number.isInteger(serial) ? 1 : 2}"><v>${serial}</v></c>`;
  }
  const index = shared.includes(value) ? shared.indexOf(value) : shared.push(value) - 1;
  return `<c r="${place}" t="s"><v>${index}</v></c>`;
};

const sheetOf = (rows: Value[][], shared: string[]): string => {
  const lines = rows.map((cells, row) => {
    const inner = cells.map((value, column) => cellOf(value, `${letters(column)}${row + 1}`, shared)).join('');
    return `<row r="${row + 1}">${inner}</row>`;
  });
  return `${head}<worksheet xmlns="${main}"><sheetData>${lines.join('')}</sheetData></worksheet>`;
};

/** A workbook with these rows in its first sheet. */
export const workbookOf = async (rows: Value[][], options: WorkbookOptions = {}): Promise<Buffer> => {
  const { more = {}, name = 'Sheet1', hidden = [], since1904 = false, parts = {} } = options;
  const shared: string[] = [];
  const sheets = Object.entries({ [name]: rows, ...more });
  const files = sheets.map(
    ([, content], index) => [`xl/worksheets/sheet${index + 1}.xml`, sheetOf(content, shared)] as const,
  );
  const listed = sheets.map(
    ([title], index) =>
      `<sheet name="${escaped(title)}" sheetId="${index + 1}" r:id="rId${index + 1}"${hidden.includes(title) ? ' state="hidden"' : ''}/>`,
  );
  const related = sheets.map(
    (_, index) =>
      `<Relationship Id="rId${index + 1}" Type="${office}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`,
  );
  const texts = shared.map((text) => `<si><t xml:space="preserve">${escaped(text)}</t></si>`);
  return zipOf({
    '[Content_Types].xml': `${head}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
    'xl/workbook.xml': `${head}<workbook xmlns="${main}" xmlns:r="${office}"><workbookPr${since1904 ? ' date1904="1"' : ''}/><sheets>${listed.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${related.join('')}</Relationships>`,
    'xl/styles.xml': `${head}<styleSheet xmlns="${main}"><numFmts count="1"><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy\\ hh:mm"/></numFmts><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `${head}<sst xmlns="${main}" count="${shared.length}">${texts.join('')}</sst>`,
    ...Object.fromEntries(files),
    ...parts,
  });
};
