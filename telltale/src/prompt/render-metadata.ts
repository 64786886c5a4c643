import type { Json, JsonObject } from '../lib/json.ts';
import type { FieldError } from '../log/session-events.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { MetadataField } from '../manifest/schema/metadata-field.ts';
import { MAX_CURRENT_SHOWN, MAX_ERROR_SHOWN, MAX_NAME_SHOWN, MAX_REJECTED_SHOWN } from './limits.ts';
import { clip, type Escape } from './text.ts';

export type MetadataManifest = AgentManifest['metadata'];

/** Whether nothing of the conversation stands before a block; `again` where something did, which was compacted. */
export type IsFirst = boolean | 'again';

/** What a block has to say of metadata. */
export interface MetadataNews {
  readonly values: JsonObject;
  readonly changed: readonly string[];
  readonly rejected: readonly FieldError[];
  readonly first: IsFirst;
}

export interface MetadataText {
  readonly errors: string;
  readonly values: string;
}

/** The part of a block about metadata; empty strings where there is nothing to say. */
export function renderMetadata(
  news: MetadataNews,
  { fields, injection }: MetadataManifest,
  safe: Escape,
): MetadataText {
  const errors = renderErrors(news, fields, safe);
  const names = Object.keys(fields);
  const { method, template } = injection;
  if (method === 'off' || names.length === 0) return { errors, values: '' };
  const holdsErrors = template?.includes('{errors}') === true;
  const all = method === 'auto' || news.first !== false;
  const shown = all || news.changed.length > 0 || (holdsErrors && errors !== '');
  if (!shown) return { errors, values: '' };
  if (template !== null) {
    const values = fillTemplate(template, { news, fields, errors, safe });
    return { errors: holdsErrors ? '' : errors, values };
  }
  if (method === 'auto') return { errors, values: listFields(fields, news.values, safe) };
  const title = all ? 'Metadata, current values:' : 'Metadata that changed, with its new values:';
  return { errors, values: `${title}\n${listValues(all ? names : news.changed, news.values, safe)}` };
}

function listFields(fields: MetadataManifest['fields'], values: JsonObject, safe: Escape): string {
  const lines = Object.entries(fields).map(
    ([name, field]) =>
      `- ${safe(name)}: ${safe(describeField(field))} (current: ${shownValue(name, values, safe)})`,
  );
  return `Metadata fields, with their current values:\n${lines.join('\n')}`;
}

function listValues(names: readonly string[], values: JsonObject, safe: Escape): string {
  return names.map((name) => `- ${safe(name)}: ${shownValue(name, values, safe)}`).join('\n');
}

/** On one line, whatever it holds: nothing in a value can look like a line of the block. */
const shownValue = (name: string, values: JsonObject, safe: Escape) =>
  safe(JSON.stringify(currentValue(name, values)));

const currentValue = (name: string, values: JsonObject): Json =>
  Object.hasOwn(values, name) ? (values[name] ?? null) : null;

/** What was rejected, and all that counts now: who sent a wrong value may be wrong about the others, too. */
function renderErrors(
  { rejected, values }: MetadataNews,
  fields: MetadataManifest['fields'],
  safe: Escape,
): string {
  if (rejected.length === 0) return '';
  const lines = rejected.slice(0, MAX_REJECTED_SHOWN).map((error) => safe(errorLine(error, fields)));
  const more = rejected.length - lines.length;
  if (more > 0) lines.push(`- and ${more} more`);
  const title = 'Metadata that was rejected:';
  const names = Object.keys(fields);
  if (names.length === 0) return [title, ...lines].join('\n');
  const current = names.map((name) =>
    safe(`- ${name}: ${clip(asWord(currentValue(name, values)), MAX_CURRENT_SHOWN)}`),
  );
  return [title, ...lines, '', 'Current metadata (what was rejected is unchanged):', ...current].join('\n');
}

function errorLine(error: FieldError, fields: MetadataManifest['fields']): string {
  const { field, code, sent } = error;
  const message = clip(error.message, MAX_ERROR_SHOWN);
  const given = clip(JSON.stringify(sent), MAX_ERROR_SHOWN);
  const name = asWord(clip(field, MAX_NAME_SHOWN));
  const declared = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (declared?.type !== 'enum' || code !== 'not_allowed')
    return `- ${name}: ${given}. ${message} Allowed: ${clip(error.allowed, MAX_ERROR_SHOWN)}.`;
  const values = clip(declared.values.map(asWord).join(', '), MAX_ERROR_SHOWN);
  const hint = message.replace(NOT_LISTED, '');
  return `- ${name}: ${given} not in [${values}]${hint === '' ? '' : `. ${hint}`}`;
}

/** What an enum says of a value that it does not list; the line has said so by then. */
const NOT_LISTED = /^It is none of the values\. ?/;

/** A plain word stands for itself; anything else is JSON, on one line. */
const asWord = (value: Json): string =>
  typeof value === 'string' && /^(?!(?:true|false|null)$)[A-Za-z_][\w-]*$/.test(value)
    ? value
    : JSON.stringify(value);

interface TemplateParts {
  readonly news: MetadataNews;
  readonly fields: MetadataManifest['fields'];
  readonly errors: string;
  readonly safe: Escape;
}

const PLACEHOLDER = /\{(?:(fields|current|errors|values|current_value)|values\.([A-Za-z_][A-Za-z0-9_]*))\}/g;
const FIELD_LINE = /^\s*-\s*([A-Za-z_][A-Za-z0-9_]*):/;

/** A page of the manifest's own. What is put in is never looked at for placeholders again. */
function fillTemplate(template: string, { news, fields, errors, safe }: TemplateParts): string {
  const allowed = (name: string | undefined) => {
    const field = name !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
    return field === undefined ? undefined : safe(describeField(field));
  };
  const fillLine = (line: string) => {
    const own = FIELD_LINE.exec(line)?.[1];
    return line.replace(PLACEHOLDER, (whole: string, word: string | undefined, named: string | undefined) => {
      if (named !== undefined) return allowed(named) ?? whole;
      switch (word) {
        case 'fields':
          return Object.keys(fields)
            .map((name) => `- ${name}: ${allowed(name)}`)
            .join('\n');
        case 'current':
          return listValues(Object.keys(fields), news.values, safe);
        case 'errors':
          return errors;
        case 'values':
          return allowed(own) ?? whole;
        case 'current_value':
          return allowed(own) === undefined ? whole : shownValue(own ?? '', news.values, safe);
        default:
          return whole;
      }
    });
  };
  return template.split('\n').map(fillLine).join('\n').trimEnd();
}

const MAX_VALUES_LISTED = 64;
const MAX_SCHEMA_SHOWN = 2000;
/** Lists of lists beyond this are described as lists. */
const MAX_ITEMS_DEPTH = 8;

/** What a field takes, in words for the model: `one of "IDLE", "CODING"`, `a whole number from 0 to 100`. */
export function describeField(field: MetadataField, depth = 0): string {
  switch (field.type) {
    case 'enum':
      return `one of ${listFieldValues(field.values)}`;
    case 'string':
      return `a string${field.max_length === undefined ? '' : ` of at most ${field.max_length} characters`}${field.pattern === undefined ? '' : ` in which /${field.pattern}/ is found`}`;
    case 'number':
      return `a ${field.integer ? 'whole ' : ''}number${range(field.min, field.max)}`;
    case 'boolean':
      return 'true or false';
    case 'object':
      return `an object${field.schema === undefined ? '' : ` of the JSON Schema ${clip(JSON.stringify(field.schema), MAX_SCHEMA_SHOWN)}`}${field.merge === 'deep' ? ', merged into the old one key by key (null removes a key)' : ''}`;
    case 'array': {
      const most = field.max_items === undefined ? '' : ` of at most ${field.max_items} items`;
      if (field.items === undefined || depth >= MAX_ITEMS_DEPTH) return `a list${most}`;
      return `a list${most}, each ${describeField(field.items, depth + 1)}`;
    }
  }
}

function listFieldValues(values: readonly Json[]): string {
  const shown = values.slice(0, MAX_VALUES_LISTED).map((value) => JSON.stringify(value));
  const more = values.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? '' : ` of at most ${max}`;
}
