import { MANIFEST_KINDS, manifestJsonSchema } from '../../../src/manifest/check-manifest.ts';
import { MAX_STEP_DEPTH, MAX_STEPS } from '../../../src/manifest/schema/checks/check-states.ts';
import { MAX_VARIABLES } from '../../../src/manifest/schema/checks/check-variables.ts';
import { MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_NODES } from '../../../src/manifest/schema/run-schema.ts';
import {
  MAX_SCHEMA_DEPTH,
  MAX_SCHEMA_NODES,
  MAX_SCHEMA_ROW,
} from '../../../src/manifest/schema/user-schemas/walk-user-schema.ts';
import { MAX_NAME_LENGTH } from '../../../src/manifest/schema/values.ts';

/** What of JSON Schema the definitions use. */
interface Shape {
  readonly description?: string;
  readonly expects?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly $ref?: string;
}

const INTRODUCTION = `# Manifests

Every key of every kind. This page is made from the definitions that validate manifests (\`npx vitest run test/manifest/schema/reference-page.test.ts -u\` in \`telltale/\` writes it), so it cannot be out of date.

A manifest is YAML 1.2 or JSON with \`kind\` and \`name\`. Unknown keys are errors, and \`telltale validate\` reports all errors of a file at once.

- **Names** of manifests, steps, states, feeds and output keys: letters, digits, \`_\` and \`-\`, not beginning with a digit, at most ${MAX_NAME_LENGTH} characters. Context variables and metadata fields stand bare in CEL, where \`-\` is minus: no \`-\` there.
- **Durations**: \`250ms\`, \`30s\`, \`1h30m\`; a bare number is seconds. A checked manifest holds \`{ms}\`.
- **Sizes**: \`64KiB\` (1,024s), \`64KB\` (1,000s); a bare number is bytes. A checked manifest holds \`{bytes}\`.
- **Environment**: \`\${NAME}\` and \`\${NAME:-default}\` are filled in when the file is loaded.
- **References**: \`\${agent.…}\`, \`\${trigger.…}\`, \`\${steps.NAME.output}\`, \`\${vars.…}\`, \`\${input.…}\`, \`\${run.…}\` and the items of loops are resolved when a step runs; a text that is exactly one reference keeps the value's type.
- **Patterns** are RE2: no look-around, no back-references; found anywhere in the text unless anchored.
- **JSON Schemas** of your own are draft 2020-12, refer only to themselves, and treat \`format\` as a note.
- **Limits** of one document: ${MAX_DOCUMENT_NODES} values, ${MAX_DOCUMENT_DEPTH} levels; ${MAX_STEPS} steps, ${MAX_STEP_DEPTH} levels of steps; ${MAX_VARIABLES} context variables; a JSON Schema of ${MAX_SCHEMA_NODES} parts, ${MAX_SCHEMA_ROW} of them side by side, and ${MAX_SCHEMA_DEPTH} levels.
`;

/** The reference of all kinds as Markdown. */
export function referencePage(): string {
  const shared = new Map<string, Shape>();
  const kinds = MANIFEST_KINDS.map((kind) => {
    const { $defs } = manifestJsonSchema(kind, { expects: true }) as unknown as {
      $defs: Record<string, Shape>;
    };
    for (const [name, shape] of Object.entries($defs)) if (name !== kind) shared.set(name, shape);
    return `## kind: ${kind}\n\n${mapSection($defs[kind] ?? {}, '')}`;
  });
  const shapes = [...shared]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, shape]) => `### ${name}\n\n${shapeSection(shape)}`);
  return `${[INTRODUCTION, ...kinds, '## Shared shapes\n', ...shapes].join('\n')}`.replaceAll(
    /\n{3,}/g,
    '\n\n',
  );
}

function shapeSection(shape: Shape): string {
  if (shape.properties !== undefined) return mapSection(shape, '');
  const intro = shape.description === undefined ? '' : `${shape.description}\n\n`;
  const branches = flatBranches(shape);
  const common = commonKeys(branches);
  const first = branches[0]?.properties ?? {};
  const commonTable =
    common.length < 3
      ? ''
      : `Each has these keys:\n\n${table(Object.fromEntries(common.map((key) => [key, first[key] ?? {}])), [])}\n`;
  const own = branches.map((branch) => branchSection(branch, common.length < 3 ? [] : common));
  return `${intro}${commonTable}\n${own.join('\n')}`;
}

function branchSection(branch: Shape, common: readonly string[], prefix = ''): string {
  if (branch.properties === undefined)
    return `- ${typeLabel(branch)}${branch.description === undefined ? '' : `: ${branch.description}`}\n`;
  const type = branch.properties.type;
  // A type without a value of its own is one that programs register, by a name with a colon in it.
  const title =
    type === undefined ? Object.keys(branch.properties)[0] : (type.const ?? type.default ?? 'acme:NAME');
  const { type: _, ...properties } = branch.properties;
  const own = Object.fromEntries(Object.entries(properties).filter(([key]) => !common.includes(key)));
  const says = [branch.description, ...rules(branch)].filter((line) => line !== undefined).join(' ');
  const rows =
    Object.keys(own).length === 0
      ? ''
      : `\n${table(own, branch.required ?? [])}${nested(own, prefix !== '' && type === undefined ? prefix.slice(0, -1) : `${prefix}${title}`)}`;
  return `**\`${prefix}${type === undefined ? `${title}:` : `type: ${title}`}\`** ${says}\n${rows}`;
}

function mapSection(shape: Shape, prefix: string): string {
  const says = [shape.description, ...rules(shape)].filter((line) => line !== undefined).join(' ');
  const properties = shape.properties ?? {};
  return `${says}\n\n${table(properties, shape.required ?? [])}${nested(properties, prefix)}`;
}

/** Maps inside maps, each with a table of its own. */
function nested(properties: Readonly<Record<string, Shape>>, prefix: string): string {
  return Object.entries(properties)
    .map(([key, property]) => {
      const [inner, mark] = innerMap(property);
      if (inner?.properties === undefined) return '';
      const path = `${prefix === '' ? '' : `${prefix}.`}${key}${mark}`;
      const choices = mapChoices(property);
      return choices.length > 1
        ? choices.map((choice) => `\n${branchSection(choice, [], `${path}.`)}`).join('')
        : `\n**\`${path}\`** ${mapSection(inner, path)}`;
    })
    .join('');
}

/** The maps that a property may be one of, told apart by their first key: `module`, `command`, … */
const mapChoices = (shape: Shape): readonly Shape[] =>
  (shape.anyOf ?? shape.oneOf ?? shape.items?.anyOf ?? []).filter(
    ({ properties }) => properties !== undefined,
  );

function innerMap(shape: Shape): readonly [Shape | undefined, string] {
  if (shape.properties !== undefined) return [shape, ''];
  if (shape.items?.properties !== undefined) return [shape.items, '[]'];
  if (typeof shape.additionalProperties === 'object' && shape.additionalProperties.properties !== undefined)
    return [shape.additionalProperties, '.NAME'];
  const branch =
    shape.anyOf?.find(({ properties }) => properties !== undefined) ??
    shape.items?.anyOf?.find(({ properties }) => properties !== undefined);
  return [branch, shape.items?.anyOf === undefined ? '' : '[]'];
}

function table(properties: Readonly<Record<string, Shape>>, required: readonly string[]): string {
  const rows = Object.entries(properties).map(([key, shape]) => {
    const must = required.includes(key)
      ? '**required**'
      : shape.default === undefined
        ? ''
        : `\`${JSON.stringify(shape.default)}\``;
    return `| \`${key}\` | ${cell(typeLabel(shape))} | ${must} | ${cell(describe(shape))} |`;
  });
  return `| key | is | default | |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

const describe = (shape: Shape): string => shape.description ?? '';
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function typeLabel(shape: Shape): string {
  if (shape.$ref !== undefined) return reference(shape.$ref);
  if (shape.const !== undefined) return `\`${String(shape.const)}\``;
  if (shape.enum !== undefined)
    return shape.enum.length > 24
      ? 'one of the events of the log'
      : shape.enum.map((value) => `\`${String(value)}\``).join(' ');
  if (shape.expects !== undefined && shape.items === undefined)
    return shape.expects.replace(/^a name of letters.*$/, 'a name');
  if (shape.anyOf !== undefined) return [...new Set(shape.anyOf.map(typeLabel))].join(', or ');
  if (shape.type === 'array')
    return `list of ${shape.items === undefined ? 'anything' : typeLabel(shape.items)}`;
  if (
    shape.type === 'object' &&
    shape.properties === undefined &&
    typeof shape.additionalProperties === 'object'
  )
    return `map of names to ${typeLabel(shape.additionalProperties)}`;
  return words(shape.type);
}

function words(type: Shape['type']): string {
  if (type === undefined) return 'anything';
  if (typeof type !== 'string') return type.map(words).join(' or ');
  return (
    { string: 'text', object: 'map', array: 'list', boolean: 'true or false', integer: 'whole number' }[
      type
    ] ?? type
  );
}

const reference = (ref: string): string => {
  const name = ref.replace('#/$defs/', '');
  return `[${name}](#${name.toLowerCase()})`;
};

/** Groups of keys, in words. */
function rules(shape: Shape): readonly string[] {
  return (shape.allOf ?? []).flatMap((rule) => {
    const keys = (rule.oneOf ?? rule.anyOf)?.map(({ required = [] }) => `\`${required[0]}\``);
    if (keys !== undefined)
      return [`${rule.oneOf === undefined ? 'At least' : 'Exactly'} one of ${keys.join(', ')}.`];
    return [];
  });
}

function flatBranches(shape: Shape): readonly Shape[] {
  return (shape.anyOf ?? []).flatMap((branch) =>
    branch.anyOf === undefined || branch.properties !== undefined ? [branch] : flatBranches(branch),
  );
}

function commonKeys(branches: readonly Shape[]): readonly string[] {
  const [first, ...others] = branches.filter(({ properties }) => properties !== undefined);
  return Object.keys(first?.properties ?? {}).filter(
    (key) =>
      key !== 'type' &&
      others.length > 0 &&
      others.every(({ properties }) => properties !== undefined && key in properties),
  );
}
