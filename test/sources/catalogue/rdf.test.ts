import jsonld, { type NodeObject } from 'jsonld';
import { describe, expect, it } from 'vitest';
import { nodesOfRdf } from '../../../src/sources/catalogue/rdf.ts';
import { catalogueManifest, chunksOf, gatherAll } from './support/catalogue.ts';

const gather = (document: string | Uint8Array, size = 1000) => gatherAll(catalogueManifest(), chunksOf(document, size));

const prefixes = `@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix vcard: <http://www.w3.org/2006/vcard/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
`;
const eu = 'http://publications.europa.eu/resource/authority';

const turtle = `# all that is published
${prefixes}
<https://example.org/cat> a dcat:Catalog ; dcat:dataset <https://example.org/d/1> .
<https://example.org/d/1> a dcat:Dataset ;
  dct:title "Haushalt"@de , "Budget"@en ;
  dct:description """Planned
spending.""" ;
  dcat:keyword "budget" , "finance" ;
  dcat:theme <${eu}/data-theme/GOVE> ;
  dct:publisher [ a foaf:Organization ; foaf:name "Finance Office" ] ;
  dcat:contactPoint [ vcard:fn "Ada" ; vcard:hasEmail <mailto:ada@example.org> ] ;
  dct:accrualPeriodicity <${eu}/frequency/ANNUAL> ;
  dct:language <${eu}/language/DEU> ;
  dct:modified "2020-05-06"^^xsd:date ;
  dct:temporal [ dcat:startDate "2019-01-01"^^xsd:date ; dcat:endDate "2019-12-31"^^xsd:date ] ;
  dcat:distribution [
    dct:title "Table" ; dcat:downloadURL <https://example.org/a.csv> ; dct:format <${eu}/file-type/CSV>
  ] .
`;

const xmlHead = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
  xmlns:dct="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/" xmlns:vcard="http://www.w3.org/2006/vcard/ns#">`;

const xml = `<?xml version="1.0" encoding="utf-8"?>
<!-- all that is published -->
${xmlHead}
  <dcat:Catalog rdf:about="https://example.org/cat"><dcat:dataset>
    <dcat:Dataset rdf:about="https://example.org/d/1">
      <dct:title xml:lang="de">Haushalt</dct:title>
      <dct:title xml:lang="en">Budget</dct:title>
      <dct:description>Planned
spending.</dct:description>
      <dcat:keyword>budget</dcat:keyword>
      <dcat:keyword>finance</dcat:keyword>
      <dcat:theme rdf:resource="${eu}/data-theme/GOVE"/>
      <dct:publisher><foaf:Organization><foaf:name>Finance Office</foaf:name></foaf:Organization></dct:publisher>
      <dcat:contactPoint rdf:parseType="Resource">
        <vcard:fn>Ada</vcard:fn><vcard:hasEmail rdf:resource="mailto:ada@example.org"/>
      </dcat:contactPoint>
      <dct:accrualPeriodicity rdf:resource="${eu}/frequency/ANNUAL"/>
      <dct:language rdf:resource="${eu}/language/DEU"/>
      <dct:modified rdf:datatype="http://www.w3.org/2001/XMLSchema#date">2020-05-06</dct:modified>
      <dct:temporal><dct:PeriodOfTime dcat:startDate="2019-01-01" dcat:endDate="2019-12-31"/></dct:temporal>
      <dcat:distribution><dcat:Distribution>
        <dct:title>Table</dct:title>
        <dcat:downloadURL rdf:resource="https://example.org/a.csv"/>
        <dct:format rdf:resource="${eu}/file-type/CSV"/>
      </dcat:Distribution></dcat:distribution>
    </dcat:Dataset>
  </dcat:dataset></dcat:Catalog>
</rdf:RDF>`;

const text = (value: string) => ({ und: [{ value }] });

const nested = (things: number): string =>
  `${xmlHead}\n${'<dcat:Dataset><dct:isPartOf>'.repeat(things)}${'</dct:isPartOf></dcat:Dataset>'.repeat(things)}\n</rdf:RDF>`;

describe('a catalogue in RDF', () => {
  it('is understood by the mapping of a data.json', async () => {
    const { wishes, skipped, remarks } = await gather(turtle, 3);
    expect([wishes.length, skipped, remarks]).toEqual([1, [], []]);
    expect(wishes[0]).toMatchObject({
      identifier: 'https://example.org/d/1',
      title: 'Budget',
      fields: {
        body: { und: [{ value: 'Planned\nspending.' }] },
        field_author: text('Finance Office'),
        field_contact_name: text('Ada'),
        field_contact_email: text('ada@example.org'),
        field_frequency: text('R/P1Y'),
        field_language: { und: [{ value: 'de' }] },
        field_pod_theme: text('GOVE'),
        field_harvest_source_modified: text('2020-05-06 00:00:00'),
        field_temporal_coverage: { und: [{ value: '2019-01-01 00:00:00', value2: '2019-12-31 00:00:00' }] },
      },
      resources: [{ title: 'Table', source: { kind: 'link', url: 'https://example.org/a.csv' } }],
    });
  });

  it.each([
    ['RDF/XML', xml],
    ['RDF/XML in UTF-16', Buffer.from(`\ufeff${xml.replace('utf-8', 'UTF-16')}`, 'utf16le')],
    [
      'Turtle with a byte order mark and SPARQL prefixes',
      `\ufeff${turtle.replaceAll(/@prefix (.*) \./g, 'PREFIX $1')}`,
    ],
  ])('means the same as %s', async (_syntax, document) => {
    expect((await gather(document)).wishes).toEqual((await gather(turtle)).wishes);
  });

  it('means the same as N-Triples, and as the JSON-LD that they come from', async () => {
    const document = {
      '@context': { dcat: 'http://www.w3.org/ns/dcat#', dct: 'http://purl.org/dc/terms/' },
      '@graph': [
        { '@id': 'urn:c', '@type': 'dcat:Catalog', 'dcat:dataset': ['urn:d', 'urn:e'].map((id) => ({ '@id': id })) },
      ]
        .map((node): NodeObject => node)
        .concat(
          ['urn:d', 'urn:e'].map((id, at) => ({
            '@id': id,
            '@type': 'dcat:Dataset',
            'dct:identifier': `${id}-é "${at}"\n`,
            'dct:title': [{ '@value': `Titel\t${at}`, '@language': 'de' }],
            'dcat:keyword': ['a', 'b', 'ü'],
            'dct:publisher': { 'http://xmlns.com/foaf/0.1/name': 'Büro' },
            'dcat:distribution': [{ 'dcat:accessURL': { '@id': `https://example.org/${at}.csv` } }],
          })),
        ),
    };
    const triples = String(await jsonld.toRDF(document, { format: 'application/n-quads' }));
    expect((await gather(triples)).wishes).toEqual((await gather(JSON.stringify(document))).wishes);
  });

  it('is read in the encoding that its XML declares', async () => {
    const latin = Buffer.from(xml.replace('utf-8', 'ISO-8859-1').replace('>Budget<', '>Übersicht<'), 'latin1');
    expect((await gather(latin)).wishes[0]?.title).toBe('Übersicht');
  });

  it('may nest deeper in XML than any catalogue does', async () => {
    const { skipped } = await gather(nested(45));
    expect(skipped).toHaveLength(45);
  });

  it('keeps all other entries where an address of one is none', async () => {
    const odd = `${turtle}\n<urn:odd> <http://www.w3.org/ns/dcat#landingPage> <https://example.org/a "b" c> .\n`;
    expect((await gather(odd)).wishes).toEqual((await gather(turtle)).wishes);
    const { wishes } = await gather(xml.replace('https://example.org/a.csv', 'https://example.org/a b.csv'));
    expect(wishes).toHaveLength(1);
  });

  it.each([
    ['Turtle', `${turtle}\n<urn:x> dct:title "open .`, /^a\.json:25:1: it cannot be read as Turtle: Unexpected/],
    ['a prefix that is not defined', '@prefix a: <urn:a> .\na:b c:d "e" .', /^a\.json:2:1: .*Undefined prefix "c:"$/],
    [
      'RDF/XML',
      xml.replace('</dct:title>', '</dct:titel>'),
      /^a\.json:7:1: it cannot be read as RDF\/XML: unexpected close tag/,
    ],
    [
      'an entity of a file',
      xml.replace('<!--', '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><!--').replace('Ada', '&e;'),
      /undefined entity/,
    ],
    ['UTF-8', Buffer.from(`${turtle}# \xe9`, 'latin1'), /it is not valid UTF-8/],
    ['a known encoding', xml.replace('utf-8', 'x-none'), /its encoding x-none is not known/],
    [
      'nested within bounds',
      nested(5_000),
      /^a\.json:3:1: it cannot be read as RDF\/XML: elements are nested more than 100/,
    ],
    [
      'a dataset',
      '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>t</title></feed>',
      /it describes no dataset/,
    ],
    ['RDF, but HTML', '<!DOCTYPE html>\n<html><body>Please log in</body></html>', /it is not JSON/],
  ])('that is not %s is a fault with its place', async (_what, document, message) => {
    await expect(gather(document)).rejects.toMatchObject({
      code: 'catalogue-fault',
      message: expect.stringMatching(message),
    });
  });

  it('in RDF/XML that ends early is a fault with its last line, wherever it ends', async () => {
    const bytes = Buffer.from(xml);
    const ends = Array.from({ length: bytes.length / 9 }, (_, at) => 9 * at + 1);
    const end = bytes.lastIndexOf('</rdf:RDF>') + '</rdf:RDF>'.length;
    for (const at of ends.filter((each) => each < end))
      await expect(nodesOfRdf(bytes.subarray(0, at), 'rdf-xml', null), `at ${at}`).rejects.toThrow();
    await expect(gather(xml.slice(0, xml.indexOf('</dcat:Catalog>')))).rejects.toMatchObject({
      code: 'catalogue-fault',
      message: expect.stringMatching(/^a\.json:\d\d:1: it ends early, before its last tag$/),
    });
  });

  it('in Turtle without the end of its last line may be cut off: nothing counts as missing', async () => {
    expect((await gather(turtle)).complete).toBe(true);
    const { wishes, complete } = await gather(turtle.trimEnd());
    expect([wishes.length, complete]).toEqual([1, 'the last line of a.json has no line end, as if it were cut off']);
  });

  it('that cannot be read says what to do', async () => {
    const hint = 'fix the document, or ask its publisher to; nothing was published or removed';
    await expect(gather('<urn:c> <urn:p> c:d .')).rejects.toMatchObject({ code: 'catalogue-fault', hint });
  });

  it('never gives the name of a thing without one as a value: its words count', async () => {
    const named = turtle.replace(
      `dct:format <${eu}/file-type/CSV>`,
      'dct:format [ a dct:IMT ; <http://www.w3.org/1999/02/22-rdf-syntax-ns#value> "text/csv" ]',
    );
    const more = `${named.trimEnd().slice(0, -1)}; dct:license [ ] ; foaf:page [ dct:title "About it" ] ;
      dct:conformsTo [ <urn:x> [ <urn:y> "z" ] ] ; <https://example.org/ns#other> [ <http://www.w3.org/2000/01/rdf-schema#label> "Other"@en ] .`;
    const { wishes, remarks } = await gather(more);
    const [wish] = wishes;
    expect(JSON.stringify(wish)).not.toContain('_:');
    expect(wish?.resources[0]?.fields).toMatchObject({ field_format: { und: [{ name: 'csv' }] } });
    expect(wish?.fields.field_additional_info).toMatchObject({
      und: expect.arrayContaining([{ first: 'References', second: 'About it' }]),
    });
    expect(remarks).toEqual(expect.arrayContaining([expect.stringMatching(/^`https:.*#other` has no field/)]));
  });

  it('that only names a dataset does not offer it, and says so', async () => {
    const { wishes, skipped } = await gather(`${turtle}\n<https://example.org/cat> dcat:dataset <urn:elsewhere> .`);
    expect(wishes).toHaveLength(1);
    expect(skipped.map(({ reason }) => reason.message)).toEqual([
      'entry 2 "urn:elsewhere" (a.json): it is named, but not described',
    ]);
  });

  it('says the pages that it has, and in which one names its next', async () => {
    const hydra = '@prefix hydra: <http://www.w3.org/ns/hydra/core#> .';
    const paged = `${hydra}\n${turtle}\n<urn:p> a hydra:PagedCollection ; hydra:totalItems 3 .`;
    await expect(gather(paged)).rejects.toThrow('it is incomplete: its list has 3 entries, 1 were read');
  });
});
