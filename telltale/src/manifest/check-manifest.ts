import { z } from 'zod';
import type { Json, JsonObject } from '../lib/json.ts';
import { suggest } from '../lib/nearest.ts';
import type { Issue } from './diagnostic.ts';
import { schemaWithOtherNames } from './other-names.ts';
import { checkAgent } from './schema/checks/check-agent.ts';
import { checkModule, checkTool } from './schema/checks/check-tool.ts';
import { checkWorkflow } from './schema/checks/check-workflow.ts';
import { type DocumentNode, documentNode, errorAt, warningAt } from './schema/checks/document-node.ts';
import { isFunctionName } from './schema/function-name.ts';
import { EMBEDDED_DRIVERS, KINDS, MANIFEST_KINDS, type Manifest, type ManifestKind } from './schema/kinds.ts';
import { frozenCopy, isMap } from './schema/plain-values.ts';
import { orderIssues, plainDocument, runSchema } from './schema/run-schema.ts';
import { showValue } from './schema/show-value.ts';
import { settleKind } from './settle-kind.ts';

const RESERVED = /^genesis_/;

/** The checks of an artifact: each method's name must be a function name. */
function checkArtifact(artifact: DocumentNode): readonly Issue[] {
  return [
    ...checkName(artifact.at('name')),
    ...checkMethods(artifact.at('methods')),
    ...(artifact.has('methods') ? checkSource(artifact) : checkText(artifact.at('source'))),
  ];
}

const CODE = /^\s*export\s+(?:async\s+)?(?:function|const|let)\b/m;

/** Code without methods would be taken for a prompt, and every decision would use its fallback. */
const checkText = (source: DocumentNode): readonly Issue[] =>
  CODE.test(source.text() ?? '')
    ? [
        warningAt(
          source,
          'no_methods',
          'Without "methods", this artifact is the text of a prompt, so no decision can call it.',
          {
            hint: 'List its functions: "methods: { should_continue: { description: … } }".',
            at: 'key',
          },
        ),
      ]
    : [];

/** The source must be JavaScript and must contain the functions that the manifest names. */
function checkSource(artifact: DocumentNode): readonly Issue[] {
  const source = artifact.at('source');
  const text = source.text();
  // It is not known which of the two counts.
  if (text === undefined || artifact.has('module')) return [];
  const broken = checkModule(source);
  if (broken.length > 0) return broken;
  const functions = [...text.matchAll(/\bfunction\s+([A-Za-z_$][\w$]*)/g)].map(([, name = '']) => name);
  return artifact
    .at('methods')
    .entries()
    .filter(([name]) => isFunctionName(name) && !new RegExp(`\\b${name}\\b`).test(text))
    .map(([name, place]) =>
      errorAt(place, 'unknown_method', `The source has no function "${name}".`, {
        hint: () => suggest(name, functions, 'It has'),
        at: 'key',
      }),
    );
}

function checkName(name: DocumentNode): readonly Issue[] {
  const found = name.text();
  if (found === undefined || !RESERVED.test(found)) return [];
  return [
    errorAt(name, 'reserved_name', `An Artifact cannot be named "${found}".`, {
      hint: 'Names that begin with "genesis_" are reserved for the runtime.',
    }),
  ];
}

function checkMethods(methods: DocumentNode): readonly Issue[] {
  if (!isMap(methods.value)) return [];
  const named = methods.entries();
  if (named.length === 0)
    return [
      errorAt(methods, 'missing', '"methods" is empty.', {
        hint: 'Write "methods: { should_continue: { description: … } }", or remove "methods" if the source is the text of a prompt.',
        at: 'key',
      }),
    ];
  return named.flatMap(([name, place]) =>
    isFunctionName(name) || !/^[A-Za-z_][\w-]*$/.test(name) // The schema reports a text that is no name at all.
      ? []
      : [
          errorAt(place, 'bad_name', `"${name}" cannot be the name of a function.`, {
            hint: name.includes('-')
              ? `Write "${name.replaceAll('-', '_')}", as in its source.`
              : 'It is a reserved word in JavaScript. Rename the function here and in its source.',
            at: 'key',
          }),
        ],
  );
}

const SCHEMES: Readonly<Record<string, readonly string[]>> = {
  redis: ['redis', 'rediss'],
  http: ['http', 'https'],
  sql: ['postgres', 'postgresql', 'sqlite', 'file'],
};

/** A driver of an outside service needs an address with a scheme that it supports. */
function checkRelic(relic: DocumentNode): readonly Issue[] {
  const driver = relic.at('driver').text();
  const schemes = SCHEMES[driver ?? ''];
  if (driver === undefined || schemes === undefined) return [];
  const connection = relic.at('connection');
  if (connection.value === undefined && !EMBEDDED_DRIVERS.includes(driver))
    return [
      errorAt(relic, 'missing', `A ${driver} relic needs "connection".`, {
        hint: `Write ${example(driver)}.`,
      }),
    ];
  if (isMap(connection.value) && !connection.has('url'))
    return [
      errorAt(connection, 'bad_address', `The connection of a ${driver} relic has no "url".`, {
        hint: `Set "url" to ${example(driver)}.`,
        at: 'key',
      }),
    ];
  const address = connection.text() ?? connection.at('url').text();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address ?? '')?.[1]?.toLowerCase();
  const wanted = driver === 'sql' && scheme === undefined ? undefined : schemes;
  if (address === undefined || wanted === undefined || (scheme !== undefined && wanted.includes(scheme)))
    return [];
  const place = connection.text() === undefined ? connection.at('url') : connection;
  return [
    errorAt(place, 'bad_address', `A ${driver} relic cannot reach ${showValue(address)}.`, {
      hint: `Write ${example(driver)}.`,
    }),
  ];
}

const example = (driver: string): string =>
  driver === 'redis'
    ? 'redis://HOST:PORT'
    : driver === 'http'
      ? 'an http:// or https:// address'
      : 'a SQLite file or postgres://HOST/DATABASE';

export type { Manifest, ManifestKind };
export { MANIFEST_KINDS };

export interface CheckedManifest {
  /** Only if there is no error. Deeply frozen, with defaults applied, durations as `{ms}` and sizes as `{bytes}`. */
  readonly manifest?: Manifest;
  readonly issues: readonly Issue[];
}

/** Finds everything that is wrong with one document. Never throws, whatever the value. */
export function checkManifest(value: unknown): CheckedManifest {
  const { document: plain, issues } = plainDocument(value);
  if (issues.length > 0) return { issues };
  const { document, kind, issues: ofKind } = settleKind(plain);
  if (kind === undefined) return { issues: ofKind };
  const { output, issues: structural } = runSchema(KINDS[kind](), document);
  const found = orderIssues([...ofKind, ...structural, ...checkDocument(kind, document)]);
  if (found.some((issue) => issue.severity === 'error')) return { issues: found };
  return { manifest: frozenCopy(output as Manifest), issues: found };
}

const CHECKS: Readonly<Record<ManifestKind, (document: DocumentNode) => readonly Issue[]>> = {
  Agent: checkAgent,
  Tool: checkTool,
  Relic: checkRelic,
  Artifact: checkArtifact,
  Workflow: checkWorkflow,
};

/** The checks that span a document, in addition to the schema of each value. */
const checkDocument = (kind: ManifestKind, document: Json): readonly Issue[] =>
  CHECKS[kind](documentNode(document));

export interface JsonSchemaOptions {
  /**
   * For the reference page: `expects` describes each value in the words of error messages, and leaves out `${NAME}`.
   */
  readonly expects?: boolean;
}

/** The JSON Schema (2020-12) of a kind, for editors. It is made from the definitions that `checkManifest` uses. */
export function manifestJsonSchema(
  kind: ManifestKind,
  { expects = false }: JsonSchemaOptions = {},
): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(KINDS[kind](), {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (!expects) delete jsonSchema.expects;
    },
  });
  const schema = { $schema, $id: `urn:telltale:schema:${kind}`, title: `Telltale ${kind}`, ...rest };
  const plain = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return expects ? plain : allowEnvironment(schemaWithOtherNames(plain));
}

const NAME = 'EnvironmentVariable';

const REFERENCE: JsonObject = {
  type: 'string',
  pattern: '\\$\\{\\s*[A-Za-z_][A-Za-z0-9_]*\\s*(:-[^}]*)?\\}',
  description: 'An environment variable, put in when the file is loaded: ${NAME} or ${NAME:-default}.',
};

/** Keywords that hold data, tests on text, or keys. No value of a manifest is checked against what they contain. */
const OTHERS: ReadonlySet<string> = new Set([
  'const',
  'default',
  'enum',
  'if',
  'not',
  'propertyNames',
  'required',
]);

/**
 * The schema of a manifest in an editor. Where a checked manifest has a number, a boolean, a word of a list or a
 * formatted text, the file may contain `${NAME}` instead. The keys that say what a map is (`kind`, `type`) stay as they
 * are.
 */
function allowEnvironment(schema: JsonObject): JsonObject {
  const { $defs } = schema;
  return {
    ...walk(schema),
    $defs: { ...(isMap($defs) ? walk($defs as JsonObject) : {}), [NAME]: REFERENCE },
  };
}

function walk(at: JsonObject): JsonObject {
  const inner = Object.fromEntries(
    Object.entries(at).map(([key, value]) => [key, OTHERS.has(key) ? value : walkAny(value)]),
  );
  if (!isFormed(at)) return inner;
  const { description, default: fallback, ...formed } = inner;
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    anyOf: [formed, { $ref: `#/$defs/${NAME}` }],
  };
}

function walkAny(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map((item) => walkAny(item as Json));
  return isMap(value) ? walk(value as JsonObject) : (value ?? null);
}

/** Whether the text has a form that no reference has. */
const isFormed = ({ type, enum: words, pattern }: JsonObject): boolean =>
  type === 'number' ||
  type === 'integer' ||
  type === 'boolean' ||
  (type === 'string' && (words !== undefined || pattern !== undefined));
