// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of manifests, not of JavaScript
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  checkManifest,
  MANIFEST_KINDS,
  type ManifestKind,
  manifestJsonSchema,
} from '../../../src/manifest/check-manifest.ts';
import { moreRuns } from '../../more-runs.ts';
import { EXAMPLES } from './examples.ts';
import { deletion, type Mutation, misspelling, retyping } from './mutations.ts';

/** Hundreds of whole documents: on a busy machine that takes longer than the usual five seconds. */
const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false });
const validators = new Map(MANIFEST_KINDS.map((kind) => [kind, ajv.compile(manifestJsonSchema(kind))]));

const STRUCTURAL = ['unknown_key', 'wrong_type', 'missing', 'not_allowed', 'exclusive', 'bad_name'];

/** Whether the document's own kind's JSON Schema takes it; undefined where it is of no kind. */
function schemaTakes(document: unknown): boolean | undefined {
  const kind =
    typeof document === 'object' && document !== null
      ? (document as { kind?: ManifestKind }).kind
      : undefined;
  return kind === undefined ? undefined : validators.get(kind)?.(document);
}

describe.each(MANIFEST_KINDS)('the JSON Schema of %s', (kind) => {
  const schema = manifestJsonSchema(kind);

  it('names its dialect, itself and what it describes', () => {
    expect(schema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: `Telltale ${kind}`,
    });
    expect(schema.$id).toBe(`urn:telltale:schema:${kind}`);
    expect((schema.$defs as Record<string, { description?: string }>)[kind]?.description).toBeTruthy();
  });

  it('describes every key', () => {
    const bare: string[] = [];
    const visit = (at: unknown, path: string): void => {
      if (typeof at !== 'object' || at === null) return;
      const { properties } = at as {
        properties?: Record<string, { description?: string; const?: unknown; $ref?: string }>;
      };
      for (const [key, property] of Object.entries(properties ?? {}))
        if (
          property.description === undefined &&
          property.const === undefined &&
          property.$ref === undefined &&
          !path.includes('if')
        )
          bare.push(`${path}.${key}`);
      for (const [key, item] of Object.entries(at)) if (key !== 'default') visit(item, `${path}.${key}`);
    };
    visit(schema.$defs, '');
    expect(bare).toEqual([]);
  });
});

describe('the JSON Schema, which judges a file as it is written,', () => {
  const EXAMPLES_FOLDER = join(import.meta.dirname, '../../../../examples');
  /** Wrong on purpose. */
  const BROKEN = /^(?:broken|first-manifest)\b/;
  const written = readdirSync(EXAMPLES_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ya?ml$/.test(file) && !BROKEN.test(file) && !file.includes('node_modules'))
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(EXAMPLES_FOLDER, file), 'utf8'), { logLevel: 'silent' })
        .map((document) => ({ file, document: document.toJS() as unknown }))
        .filter(({ document }) => schemaTakes(document) !== undefined),
    );

  it('takes every example, environment variables and all', () => {
    expect(written.length).toBeGreaterThan(50);
    const refused = written.filter(({ document }) => schemaTakes(document) === false);
    expect(refused.map(({ file }) => file)).toEqual([]);
  });

  it.each([
    { limits: { turns: '${TURNS:-50}', wall: '${MINUTES}m' } },
    { model: 'anthropic/${MODEL}', dialect: '${ DIALECT :-tags}' },
    { protocol: { seal: '${SEAL:-}', max_body: '${SIZE:-1MiB}' } },
  ])('takes an environment variable for a number, a word, a switch, a quantity: %j', (keys) => {
    expect(schemaTakes({ kind: 'Agent', name: '${NAME}', ...keys })).toBe(true);
  });

  it.each([
    { limits: { turns: '${agent.turns}' } },
    { limits: { turns: 'TURNS' } },
    { dialect: '$DIALECT' },
    { '${KEY}': 1 },
    { import: { tools: ['builtin:filesytem'] } },
  ])('takes nothing else for one: %j', (keys) => {
    expect(schemaTakes({ kind: 'Agent', name: 'a', ...keys })).toBe(false);
    expect(schemaTakes({ kind: 'Agent', name: 'a' })).toBe(true);
  });
});

describe('the JSON Schema and the validator agree', () => {
  it('on documents that use every key', () => {
    for (const document of EXAMPLES) {
      expect(
        schemaTakes(document),
        JSON.stringify(validators.get((document as { kind: ManifestKind }).kind)?.errors),
      ).toBe(true);
    }
  });

  it.each([
    ['30s', true],
    [30, true],
    ['thirty', false],
    ['0s', false],
    [0, false],
    [-1, false],
  ])('on a time-out of %j', (timeout, isGood) => {
    const document = { kind: 'Agent', name: 'a', limits: { action_timeout: timeout } };
    expect(schemaTakes(document)).toBe(isGood);
    expect(checkManifest(document).issues).toHaveLength(isGood ? 0 : 1);
  });

  it.each([
    ['64KiB', true],
    [64, true],
    ['64 apples', false],
    [1.5, false],
    [-1, false],
  ])('on a size of %j', (size, isGood) => {
    const document = { kind: 'Agent', name: 'a', protocol: { max_body: size } };
    expect(schemaTakes(document)).toBe(isGood);
    expect(checkManifest(document).issues).toHaveLength(isGood ? 0 : 1);
  });

  it.each([
    ['lost a key', deletion],
    ['have a value of another type', retyping],
    ['have a misspelt key', misspelling],
  ])('on documents that %s', (_, mutations: fc.Arbitrary<Mutation>) => {
    fc.assert(
      fc.property(mutations, ({ document, path }) => {
        const takes = schemaTakes(document);
        fc.pre(takes !== undefined);
        const { issues } = checkManifest(document);
        const structural = issues.filter(
          ({ code, severity }) => severity === 'error' && STRUCTURAL.includes(code),
        );
        const told = `${path.join('.')}: ${JSON.stringify(issues.slice(0, 3))}`;
        if (structural.length > 0) expect(takes, told).toBe(false);
        if (takes === false)
          expect(
            issues.some(({ severity }) => severity === 'error'),
            told,
          ).toBe(true);
      }),
      { numRuns: moreRuns(200) },
    );
  });
});
