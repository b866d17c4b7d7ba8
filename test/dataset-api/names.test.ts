import { describe, expect, it } from 'vitest';
import { portalColumnName } from '../../src/dataset-api/names.ts';

describe('the column name of a header cell, as recorded', () => {
  it.each([
    [' first name ', 'first_name'],
    ['Last-Name', 'lastname'],
    ['e.mail', 'email'],
    ['2001', '__num_2001'],
    ['select', 'select_'],
    ['Order', 'order_'],
    ['<b>a</b>', 'bab'],
    ['näme', 'nme'],
    ['\ufeffa', 'a'],
    ['日本', ''],
    ['x'.repeat(80), 'x'.repeat(64)],
  ])('%j becomes %j', (cell, name) => {
    expect(portalColumnName(cell)).toBe(name);
  });

  it('keeps clear of the serial column of the portal', () => {
    expect(portalColumnName('Entry ID')).toBe('entry_id_');
  });
});
