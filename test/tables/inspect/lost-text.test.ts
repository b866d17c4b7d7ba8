// Characters that an earlier conversion lost or took for others, and right texts that look alike.
import { describe, expect, it } from 'vitest';
import { inspectTable } from '../../../src/tables/check.ts';
import { fileOf } from '../../support/table-file.ts';
import { languageTexts } from '../language-texts.ts';

const kindsOf = async (value: string): Promise<string[]> => {
  const path = fileOf(`id,note\n1,Ulm\n2,"${value.replaceAll('"', '""')}"\n`);
  return (await inspectTable(path)).findings.map(({ kind }) => kind);
};

/** UTF-8 that was read in another encoding. */
const misread = (text: string, encoding: string): string => new TextDecoder(encoding).decode(Buffer.from(text));

describe('text that was encoded twice', () => {
  const letters = [...'ÀÁÂÃÄÆÇÈÉÊËÌÎÏÐÑÓÕÖ×ØÙÚÛÜÞßàáâãäåæçèéêëìíîïñòóôõöøùúûüýþÿ°£§«»€„“–—…'];
  it.each(letters)('%s as Windows-1252', async (letter) => {
    expect(await kindsOf(`x${misread(letter, 'windows-1252')}y`)).toEqual(['twice-encoded']);
  });

  it.each(['Łódź, Gdańsk, Wałbrzych', 'Москва', 'Αθήνα', 'القاهرة', 'it’s', 'Straße', 'São Paulo'])(
    '%s as Windows-1252 or Latin-1',
    async (text) => {
      expect(await kindsOf(misread(text, 'windows-1252'))).toEqual(['twice-encoded']);
      expect(await kindsOf(Buffer.from(text).toString('latin1'))).toContain('twice-encoded');
    },
  );
});

it.each(['M?nchen', 'Stra?e', 'Baden-W?rttemberg, K?ln', 'Saarbr?cken (Nord)', 'El Ni?o'])(
  '%s: a letter became a question mark',
  async (text) => expect(await kindsOf(text)).toEqual(['lost-letter']),
);

it.each([
  'M&uuml;nchen',
  'Smith &amp; Sons',
  'Caf&eacute;',
  '&#252;ber',
  'x&#xFC;',
  'a&nbsp;b',
  '5 &lt; 6',
  'Stra&szlig;e',
])('%s: a character as web pages write it', async (text) =>
  expect(await kindsOf(text)).toEqual(['character-reference']),
);

describe('text that is right', () => {
  it.each([
    'Is it open? yes',
    'really?',
    '???',
    'https://example.org/index.php?id=3&town=ulm&lt=4',
    'example.org/search?q=ulm',
    '/list?page=2',
    '?page=2',
    'AT&T; Smith&Sons; R&D',
    'a && b;',
    'SÃO PAULO',
    '“AMANHÔ',
    'IRMÃ’S',
    'CAFÉ…',
    '«DÉJÀ»',
    'DÉJÀ : VU',
    'VOILÀ\u00a0!',
    'Ångström, Ärger',
    'ÅÄÖ',
    'Ñandú «ESPAÑA»',
    'ÎLE–DE–FRANCE',
    'GÂTEAU',
    'Ðorður',
  ])('%s', async (text) => expect(await kindsOf(text)).toEqual([]));

  it.each(Object.entries(languageTexts))('in %s', async (_, text) => {
    expect(await kindsOf(String(text))).not.toContain('twice-encoded');
    expect(await kindsOf(String(text))).not.toContain('lost-letter');
  });
});
