import t from 'tap'
import { officeText } from '../../../lib/reading/attachment/office.ts'
import { zipOf } from '../../support/hostile-attachments.ts'

const bounds = { entries: 20, inflatedBytes: 100_000, length: 10_000 }

function textOf(files: Readonly<Record<string, string>>, changes: Partial<typeof bounds> = {}) {
  const zip = zipOf(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)] as const))
  return officeText(zip, { ...bounds, ...changes })
}

/** A workbook of one sheet with these rows. */
const sheet = (rows: string, more: Readonly<Record<string, string>> = {}) => ({
  'xl/workbook.xml': '<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels':
    '<Relationships><Relationship Id="a" Target="worksheets/one.xml"/></Relationships>',
  'xl/worksheets/one.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
  ...more,
})
const cell = (at: string, value: string, type = '') =>
  `<c${at && ` r="${at}"`}${type && ` t="${type}"`}><v>${value}</v></c>`

t.test('where cells stand', async t => {
  for (const [rows, text] of [
    [`<row>${cell('A1', '1')}${cell('B1', '2')}</row>`, '1\t2'],
    [`<row>${cell('', '1')}${cell('', '2')}</row>`, '1\t2'],
    [`<row>${cell('A1', '1')}${cell('', '2')}${cell('D1', '3')}</row>`, '1\t2\t\t3'],
    [`<row>${cell('B1', '1')}</row><row>${cell('A2', '2')}</row>`, '\t1\n2'],
    // Out of order, and one twice.
    [`<row>${cell('B1', '1')}${cell('A1', '2')}${cell('C1', '3')}</row>`, '\t1\t2\t\t3'],
    [`<row>${cell('A1', '1')}${cell('A1', '2')}</row>`, '1\t2'],
    [`<row>${cell('Z1', '1')}${cell('AA1', '2')}</row>`, `${'\t'.repeat(25)}1\t2`],
    [
      `<row>${cell('A1', '1')}${cell('AX1', '2')}${cell('ZZZ1', '3')}</row>`,
      `1${'\t'.repeat(49)}2${'\t'.repeat(50)}3`,
    ],
    [`<row>${cell('XFD1', '1')}</row>`, `${'\t'.repeat(50)}1`],
    // What is no reference stands behind the one before.
    [`<row>${cell('A1', '1')}${cell('ABCD1', '2')}${cell('a1', '3')}${cell('5', '4')}</row>`, '1\t2\t3\t4'],
    [`<row>${cell('A1', '1')}</row><row/><row>${cell('A3', '2')}</row>`, '1\n\n2'],
  ] as const)
    t.equal(await textOf(sheet(rows)), `S\n${text}`, rows.replace(/[<>"/]+/g, ' '))
})

t.test('what cells say', async t => {
  const strings = {
    'xl/sharedStrings.xml':
      '<sst><si><t>one</t></si><si><r><t>tw</t></r><r><t>o</t></r><rPh><t>too</t></rPh></si><si/><x>no</x></sst>',
  }
  for (const [cells, text] of [
    [cell('A1', '0', 's'), 'one'],
    [cell('A1', '1', 's'), 'two'],
    [`${cell('A1', '2', 's')}${cell('B1', '3', 's')}${cell('C1', 'x')}`, '\t\tx'],
    [cell('A1', '1', 'b') + cell('B1', '0', 'b'), 'TRUE\tFALSE'],
    [cell('A1', '1', 'n') + cell('B1', '1', 'str') + cell('C1', '#DIV/0!', 'e'), '1\t1\t#DIV/0!'],
    ['<c r="A1" t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r><rPh><t>no</t></rPh></is></c>', 'inline'],
    ['<c r="A1"><f>SUM(B1)</f><v>3</v></c>', '3'],
    ['<c r="A1"><f>SUM(B1)</f></c>', ''],
    [cell('A1', '&lt;&#20154;&gt; &amp;'), '<人> &'],
    ['<x:c r="A1"><x:v>5</x:v></x:c>', '5'],
  ] as const)
    t.equal(
      await textOf(sheet(`<row>${cells}</row>`, strings)),
      `S\n${text}`.trimEnd(),
      cells.replace(/[<>"/]+/g, ' '),
    )
})

t.test('sheets in the order of the workbook, wherever they stand', async t => {
  const row = (value: string) => `<worksheet><row>${cell('A1', value)}</row></worksheet>`
  const files = {
    'xl/workbook.xml':
      '<workbook><sheet name="B" r:id="two"/><sheet name="Gone" r:id="none"/><sheet name="A" r:id="one"/><sheet r:id="three"/><sheet name="no id"/></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<R><Relationship Id="one" Target="/xl/one.xml"/><Relationship Id="two" Target="two.xml"/><Relationship Id="three" Target="three.xml"/><Relationship Id="none"/><Relationship Target="x"/><Other Id="none" Target="one.xml"/></R>',
    'xl/one.xml': row('1'),
    'xl/two.xml': row('2'),
    'xl/three.xml': row('3'),
  }
  t.equal(await textOf(files), 'B\n2\n\nA\n1\n\n\n3'.replace('\n\n\n3', '\n\n3'))
  for (const [length, text] of [
    [1, 'B'],
    [2, 'B'],
    [3, 'B\n2'],
    [7, 'B\n2\n\nA'],
    [8, 'B\n2\n\nA\n1'],
  ] as const)
    t.equal(await textOf(files, { length }), text, `${length}`)
})

t.test('documents and slides', async t => {
  const p = (...texts: readonly string[]) => `<w:p>${texts.map(text => `<w:t>${text}</w:t>`).join('')}</w:p>`
  const document = (body: string) => ({ 'word/document.xml': `<w:document>${body}</w:document>` })
  for (const [body, text] of [
    [p('a', 'b') + p('c'), 'ab\nc'],
    [
      '<w:p>not shown<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t></w:p>',
      'a\tb\nc\nd',
    ],
    [
      `<w:tbl><w:tr><w:tc>${p('a')}${p('b')}</w:tc><w:tc>${p('c')}</w:tc></w:tr><w:tr><w:tc>${p('d')}</w:tc></w:tr></w:tbl>${p('e')}`,
      'a b\tc\t\nd\t\ne',
    ],
    [
      `<w:tbl><w:tr><w:tc>${p('a')}<w:tbl><w:tr><w:tc>${p('b')}</w:tc></w:tr></w:tbl>${p('c')}</w:tc></w:tr></w:tbl>`,
      'a b\t\nc\t',
    ],
    [p('a') + p('') + p('') + p('') + p('b'), 'a\n\nb'],
  ] as const)
    t.equal(await textOf(document(body)), text.trim(), body.replace(/[<>/]+/g, ' '))
  t.equal(
    await textOf({
      'word/footnotes.xml': p('foot'),
      'word/endnotes.xml': p('end'),
      'word/document2.xml': p('two'),
      ...document(p('one')),
      'word/header1.xml': p('no'),
    }),
    'one\ntwo\nend\nfoot',
  )
  const slides = Object.fromEntries(
    [10, 2, 1].map(i => [`ppt/slides/slide${i}.xml`, `<p:sld>${p(`${i}`)}</p:sld>`]),
  )
  t.equal(await textOf({ ...slides, 'ppt/slides/slideA.xml': p('no') }), '1\n\n2\n\n10')
  await t.rejects(textOf({ 'readme.txt': 'x' }), /no document/)
  await t.rejects(textOf({ 'xl/other.xml': 'x' }), /no document/)
  t.equal(await textOf(slides, { entries: 3 }), '1\n\n2\n\n10')
  await t.rejects(textOf(slides, { entries: 2 }), /too many files/)
  const bytes = Object.values(slides).join('').length
  t.equal(await textOf(slides, { inflatedBytes: bytes }), '1\n\n2\n\n10')
  await t.rejects(textOf(slides, { inflatedBytes: bytes - 1 }), /more than is read/)
})
