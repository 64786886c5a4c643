import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../../src/manifest/load-manifests.ts';
import type { WorkflowManifest } from '../../../src/manifest/schema/kinds.ts';
import { graphOf, type WorkflowGraph } from '../../../src/workflows/graph/graph-of.ts';
import { mermaidOf } from '../../../src/workflows/graph/mermaid-of.ts';
import { fitText, svgOf } from '../../../src/workflows/graph/svg/svg-of.ts';
import { moreRuns } from '../../more-runs.ts';

async function workflow(text: string): Promise<WorkflowManifest> {
  const entry = { label: 'w.yml', bytes: Buffer.from(text), folder: import.meta.dirname };
  const { projects, diagnostics } = await loadManifests([entry], { env: {} });
  const found = projects[0]?.manifests[0]?.manifest;
  if (found?.kind !== 'Workflow') throw new Error(JSON.stringify(diagnostics));
  return found;
}

const fileGraph = async (name: string) =>
  graphOf(await workflow(readFileSync(`${import.meta.dirname}/${name}`, 'utf8')));

/** Every line that the writer can write: anything else would be a text that got out of its label. */
const LABEL = String.raw`"(?:[^"<>#%{}\`]|<br/>|#\d+;)*"`;
const LINES = [
  /^flowchart TD$/,
  new RegExp(
    String.raw`^ +n\d+(?:\(\(${LABEL}\)\)|\(\(\(${LABEL}\)\)\)|\(${LABEL}\)|\(\[${LABEL}\]\)|\[${LABEL}\]|\{\{${LABEL}\}\})$`,
  ),
  new RegExp(String.raw`^ +subgraph g\d+ \[${LABEL}\]$`),
  /^ +end$/,
  new RegExp(String.raw`^  n\d+ (?:-->|-\.->)(?:\|${LABEL}\|)? n\d+$`),
  /^ {2}classDef final stroke-width:3px$/,
  /^ {2}class n\d+(?:,n\d+)* final$/,
];

function checkMermaid(text: string): void {
  let depth = 0;
  for (const line of text.trimEnd().split('\n')) {
    expect(
      LINES.some((form) => form.test(line)),
      line,
    ).toBe(true);
    if (line.trimStart().startsWith('subgraph')) depth++;
    if (line.trim() === 'end') depth--;
    expect(depth).toBeGreaterThanOrEqual(0);
  }
  expect(depth).toBe(0);
}

interface ReadSvg {
  readonly names: readonly string[];
  readonly texts: readonly string[];
  readonly attributes: readonly string[];
}

/** Throws where it is no XML. */
function readSvg(svg: string): ReadSvg {
  const names: string[] = [];
  const texts: string[] = [];
  const attributes: string[] = [];
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', (tag) => {
    names.push(tag.name);
    for (const [name, value] of Object.entries(tag.attributes)) attributes.push(`${name}=${value}`);
  });
  parser.on('text', (text) => {
    if (text.trim() !== '') texts.push(text);
  });
  parser.write(svg).close();
  return { names, texts, attributes };
}

describe('the graph of a machine', () => {
  it('has the states of a map that an artifact answers with, and the fallback where the map lacks it', async () => {
    const edgesOf = async (fallback: string) => {
      const step = `{ name: t, type: transition, transition_source: { invoke: x, method: y, fallback: ${fallback} }, transition_map: { true: b, false: c } }`;
      const made = `kind: Workflow\nname: w\ninitial: a\nstates: { a: { steps: [${step}] }, b: { final: true }, c: { final: true }${fallback === 'd' ? ', d: { final: true }' : ''} }\n`;
      return graphOf(await workflow(made)).edges.flatMap(({ label }) => label ?? []);
    };
    expect(await edgesOf('d')).toEqual(['true', 'false', 'fallback']);
    expect(await edgesOf('false')).toEqual(['true', 'false']);
  });

  it('has a node for each state, and an edge for each way out of it', async () => {
    const { nodes, edges } = await fileGraph('machine.yml');
    const named = new Map(nodes.map(({ id, name, kind }) => [id, kind === 'start' ? 'start' : name]));
    const ways = edges.map(({ from, to, label, kind }) => [
      named.get(from),
      named.get(to),
      ...(kind === 'next' ? [] : [kind]),
      ...(label === undefined ? [] : [label]),
    ]);
    expect(ways).toEqual([
      ['start', 'draft'],
      ['draft', 'review', 'yes, it is'],
      ['draft', 'draft', 'no'],
      ['draft', 'dropped', 'vars.cancelled'],
      ['review', 'draft', 'open'],
      ['review', 'released', 'open'],
      ['review', 'dropped', 'open', 'fallback'],
      ['review', 'released', "1: steps.ask.output == 'approve' && score >= 3"],
      ['review', 'draft', '2: else'],
      ['review', 'dropped', '3: vars.cancelled'],
    ]);
    expect(nodes.filter(({ kind }) => kind === 'final').map(({ name }) => name)).toEqual([
      'released',
      'dropped',
    ]);
    expect(nodes.find(({ name }) => name === 'review')?.lines).toEqual([
      'ask: asks a person: approve / reject, 2d at most',
      'gate: release_gate.next(3) names the next state',
    ]);
  });

  it('is this in Mermaid', async () => {
    const text = mermaidOf(await fileGraph('machine.yml'));
    checkMermaid(text);
    await expect(text).toMatchFileSnapshot('machine.mmd');
  });
});

describe('the graph of steps', () => {
  const ways = ({ nodes, edges }: WorkflowGraph) => {
    const named = new Map(nodes.map(({ id, name, kind }) => [id, name === '' ? kind : name]));
    return edges.map(({ from, to }) => `${named.get(from)} > ${named.get(to)}`);
  };

  it('is their order', async () => {
    const text = 'steps: [{ name: a, type: emit, event: x }, { name: b, type: emit, event: y }]';
    expect(ways(graphOf(await workflow(`kind: Workflow\nname: w\n${text}`)))).toEqual([
      'a > b',
      'start > a',
      'b > end',
    ]);
  });

  it('has an edge for each need, and those without begin at once', async () => {
    const drawn = await fileGraph('steps.yml');
    expect(ways(drawn)).toEqual(
      expect.arrayContaining(['start > fetch', 'fetch > lint', 'fetch > parallel', 'lint > foreach']),
    );
    expect(ways(drawn).filter((way) => way.startsWith('start'))).toEqual(['start > fetch']);
  });

  it('puts steps inside of steps into groups, and groups into groups', async () => {
    const { groups, nodes } = await fileGraph('steps.yml');
    expect(groups.map(({ name, type, group }) => [name, type, group])).toEqual([
      ['build', 'parallel', undefined],
      ['each_file', 'foreach', undefined],
      ['choose', 'switch', 'g2'],
      ['guard', 'try', undefined],
      ['poll', 'loop', undefined],
    ]);
    expect(nodes.find(({ name }) => name === 'big')?.group).toBe('g3');
  });

  it('shows where a failure leads: goto, catch and finally', async () => {
    const { edges, nodes } = await fileGraph('steps.yml');
    const nameOf = (asked: string) => nodes.find(({ id }) => id === asked)?.name;
    const failing = edges.filter(({ kind }) => kind === 'error');
    expect(failing.map(({ from, to }) => [nameOf(from), nameOf(to)])).toEqual([
      ['try', 'tell'],
      ['wait', 'lint'],
    ]);
    const last = edges
      .filter(({ label }) => label === 'finally')
      .map(({ from, to }) => [nameOf(from), nameOf(to)]);
    expect(last).toEqual([
      ['deploy', 'clean'],
      ['tell', 'clean'],
    ]);
  });

  it('is this in Mermaid and in SVG', async () => {
    const drawn = await fileGraph('steps.yml');
    const text = mermaidOf(drawn);
    checkMermaid(text);
    await expect(text).toMatchFileSnapshot('steps.mmd');
    const svg = await svgOf(drawn);
    readSvg(svg);
    await expect(svg).toMatchFileSnapshot('steps.svg');
  });
});

describe('a hostile text', () => {
  const HOSTILE = [
    '</text><script>alert(1)</script>',
    '"]; click n1 "javascript:alert(1)" %%{init: {}}%%',
    'a\n  n1 --> n2\nend\n`**bold**` $$x^2$$ &amp; #35; style x:#fff;',
    '1. a list',
    '- a list',
    '\u0000\u001b[31m\u202e\ud800\uffff',
    'x'.repeat(5000),
    '漢字'.repeat(100),
    '',
    ' ',
  ];
  const hostile = (text: string): WorkflowGraph => ({
    workflow: text,
    description: text,
    nodes: [
      { id: 'n1', kind: 'start', name: text, lines: [] },
      { id: 'n2', kind: 'state', name: text, lines: [text, text] },
      { id: 'n3', kind: 'final', name: text, lines: [text] },
      { id: 'n4', kind: 'split', name: text, lines: [text], group: 'g1' },
    ],
    groups: [{ id: 'g1', name: text, type: 'parallel' }],
    edges: [
      { from: 'n1', to: 'n2', kind: 'next', label: text },
      { from: 'n2', to: 'n3', kind: 'error', label: text },
      { from: 'n2', to: 'n2', kind: 'back', label: text },
      { from: 'n2', to: 'n4', kind: 'open' },
    ],
  });

  it.each(HOSTILE.map((text) => [JSON.stringify(text).slice(0, 40), text]))(
    'stays in its label: %s',
    async (_, text) => {
      checkMermaid(mermaidOf(hostile(text)));
      const { names, attributes } = readSvg(await svgOf(hostile(text)));
      expect(new Set(names)).toEqual(
        new Set(
          ['svg', 'title', 'desc', 'style', 'defs', 'marker', 'path', 'rect', 'g', 'circle', 'text'].filter(
            (name) => names.includes(name),
          ),
        ),
      );
      expect(attributes.filter((each) => /^(?:on|href|src)|javascript|https?:/i.test(each))).toEqual([
        'xmlns=http://www.w3.org/2000/svg',
      ]);
    },
  );

  it('is whole in the title, where the drawing clips it', async () => {
    const long = 'word '.repeat(40).trim();
    const { texts } = readSvg(await svgOf(hostile(long)));
    expect(texts).toContain(long);
    expect(texts).toContainEqual(expect.stringMatching(/^word.*…$/));
  });

  it('never gets out, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) =>
        checkMermaid(mermaidOf(hostile(text))),
      ),
      { numRuns: moreRuns(60) },
    );
  });

  it('is cut into rows that fit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.integer({ min: 4, max: 40 }),
        (text, columns) => {
          expect(fitText(text, columns, 3).length).toBeLessThanOrEqual(3);
        },
      ),
    );
    expect(fitText('one two three four', 9, 3)).toEqual(['one two', 'three', 'four']);
    expect(fitText('one two three four', 9, 2)).toEqual(['one two', 'three fo…']);
    expect(fitText('abcdefghij', 4, 9)).toEqual(['abcd', 'efgh', 'ij']);
  });
});

describe('a workflow with little in it', () => {
  it('of one step begins, does it and ends', async () => {
    const drawn = graphOf(
      await workflow('kind: Workflow\nname: w\nsteps: [{ name: a, type: emit, event: x }]'),
    );
    checkMermaid(mermaidOf(drawn));
    expect(mermaidOf(drawn)).toContain('n1 --> n2\n  n2 --> n3\n');
    readSvg(await svgOf(drawn));
  });

  it('of one state is drawn', async () => {
    const drawn = graphOf(
      await workflow('kind: Workflow\nname: w\ninitial: a\nstates: { a: { final: true } }'),
    );
    expect(drawn.edges).toEqual([{ from: 'n1', to: 'n2', kind: 'next' }]);
    checkMermaid(mermaidOf(drawn));
    readSvg(await svgOf(drawn));
  });
});
