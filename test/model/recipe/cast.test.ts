// Notations of numbers and dates: what is taken, what is written, what is refused.

import { describe, expect, it } from 'vitest';
import { castSchema, compileCast } from '../../../src/model/recipe/cast.ts';
import { dateFormat, dateFormatFault } from '../../../src/model/recipe/date-format.ts';
import { notationOf } from '../../../src/model/recipe/table-schema.ts';
import { fc } from '../../support/extent.ts';

const cast = (how: unknown, cell: string): string | null => compileCast(castSchema.parse(how))(cell);

describe('numbers', () => {
  it.each([
    ['number', '12', '12'],
    ['number', '+1.50', '1.50'],
    ['number', '00.5', '0.5'],
    ['number', '12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['number', '1e5', '1e5'],
    ['number', '1,5', null],
    ['number', '1 000', null],
    ['number', '', null],
    ['number', '1.', null],
    ['integer', '5.0', '5'],
    ['integer', '5.5', null],
    ['integer', '-007', '-7'],
    ['integer', '000', '0'],
    [{ to: 'number', decimal: ',' }, '1,5', '1.5'],
    [{ to: 'number', decimal: ',' }, '1.5', null],
    [{ to: 'number', group: ',' }, '1,234,567.8', '1234567.8'],
    [{ to: 'number', group: ',' }, '1,23', null],
    [{ to: 'number', decimal: ',', group: '.' }, '1.234,5', '1234.5'],
    [{ to: 'number', decimal: ',', group: '.' }, '1.234', '1234'],
    [{ to: 'number', decimal: ',', group: ' ' }, '1\u00a0234,5', '1234.5'],
    [{ to: 'number', group: "'" }, "1'234.5", '1234.5'],
  ])('%o of %s is %s', (how, cell, text) => {
    expect(cast(how, cell)).toBe(text);
  });
});

describe('dates', () => {
  it.each([
    ['DD.MM.YYYY', '01.02.2026', '2026-02-01'],
    ['D.M.YY', '1.2.69', '2069-02-01'],
    ['D.M.YY', '1.2.70', '1970-02-01'],
    ['MM/DD/YYYY', '12/31/2026', '2026-12-31'],
    ['D MMM YYYY', '1 Mar 2026', '2026-03-01'],
    ['MMMM D, YYYY', 'march 1, 2026', '2026-03-01'],
    ['YYYYMMDD', '20260301', '2026-03-01'],
    ['DD.MM.YYYY', '29.02.2025', null],
    ['DD.MM.YYYY', '29.02.2024', '2024-02-29'],
    ['DD.MM.YYYY', '1.2.2026', null],
    ['MM/DD/YYYY', '31/12/2026', null],
    ['D MMM YYYY', '1 Foo 2026', null],
  ])('in %s: %s is %s', (from, cell, text) => {
    expect(cast({ to: 'date', from }, cell)).toBe(text);
  });

  it('with time keep their zone, and know morning from afternoon', () => {
    expect(cast({ to: 'datetime', from: 'DD.MM.YYYY HH:mm' }, '01.02.2026 09:05')).toBe('2026-02-01T09:05:00');
    expect(cast({ to: 'datetime', from: 'M/D/YYYY h:mm A' }, '2/1/2026 12:30 am')).toBe('2026-02-01T00:30:00');
    expect(cast({ to: 'datetime', from: 'M/D/YYYY h:mm A' }, '2/1/2026 1:30 PM')).toBe('2026-02-01T13:30:00');
    expect(cast('datetime', '2026-02-01T09:05:06.789+0100')).toBe('2026-02-01T09:05:06.789+01:00');
    expect(cast('datetime', '2026-02-01T24:00:00')).toBeNull();
    expect(cast('time', '9:05')).toBeNull();
    expect(cast({ to: 'time', from: 'H:mm' }, '9:05')).toBe('09:05:00');
  });

  it('are only ISO where no notation is named', () => {
    expect(cast('date', '2026-02-01')).toBe('2026-02-01');
    expect(cast('date', '01.02.2026')).toBeNull();
  });

  it('of every day and notation become ISO 8601', () => {
    const day = fc.date({ min: new Date('1971-01-01'), max: new Date('2068-12-31'), noInvalidDate: true });
    const two = (value: number): string => String(value).padStart(2, '0');
    fc.assert(
      fc.property(day, (date) => {
        const [year, month, dom] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
        const iso = date.toISOString().slice(0, 10);
        expect(dateFormat('DD.MM.YYYY', 'date')(`${two(dom)}.${two(month)}.${year}`)).toBe(iso);
        expect(dateFormat('D/M/YY', 'date')(`${dom}/${month}/${two(year % 100)}`)).toBe(iso);
        expect(dateFormat('YYYY-MM-DD', 'date')(iso)).toBe(iso);
      }),
    );
  });

  it('need a notation that names a whole date, each part once', () => {
    expect(dateFormatFault('MM/YYYY', 'date')).toContain('must name year');
    expect(dateFormatFault('h:mm', 'time')).toContain('must name the hour');
    expect(dateFormatFault('DD.DD.MM.YYYY', 'date')).toContain('twice');
    expect(castSchema.safeParse({ to: 'number', from: 'DD.MM.YYYY' }).success).toBe(false);
    expect(castSchema.safeParse({ to: 'number', decimal: ',', group: ',' }).success).toBe(false);
  });

  it('are written in the directives of the Table Schema, too', () => {
    expect(notationOf('%d.%m.%Y')).toBe('DD.MM.YYYY');
    expect(notationOf('%Y-%m-%dT%H:%M:%S')).toBe('YYYY-MM-DD[T]HH:mm:ss');
  });
});

describe('truth values', () => {
  it('are what is named, in any letter case, else the usual words', () => {
    expect(['TRUE', '1', 'Yes', 'no', '0', 'maybe'].map((cell) => cast('boolean', cell))).toEqual([
      'true',
      'true',
      'true',
      'false',
      'false',
      null,
    ]);
    expect(cast({ to: 'boolean', true: ['ja', 1], false: ['nein'] }, 'JA')).toBe('true');
    expect(cast({ to: 'boolean', true: ['ja'], false: ['nein'] }, 'yes')).toBeNull();
  });
});
