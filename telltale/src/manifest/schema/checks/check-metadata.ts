import type { Json } from '../../../kernel/json.ts';
import { nearest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { fieldViolation } from './check-field-value.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

const DEFAULT_MAX_FIELDS = 32;
const TEMPLATE_WORDS = ['fields', 'current', 'errors', 'values', 'current_value'];
/** Those that speak of the field whose line they stand on. */
const OF_A_LINE = ['values', 'current_value'];
/** As the prompt reads it. */
const FIELD_LINE = /^[^\S\n]*-[^\S\n]*([A-Za-z_][A-Za-z0-9_]*):/;

/** Defaults that do not satisfy their field, limits that exclude everything, placeholders that name nothing. */
export function checkMetadata(metadata: DocumentNode): readonly Issue[] {
  const fields = metadata.at('fields').entries();
  const issues = fields.flatMap(([, field]) => [
    ...checkDefault(field),
    ...checkRange(field),
    ...checkEnum(field),
  ]);
  const max = metadata.at('limits').at('fields').value ?? DEFAULT_MAX_FIELDS;
  if (typeof max === 'number' && fields.length > max)
    issues.push(
      errorAt(
        metadata.at('fields'),
        'too_many',
        `There are ${fields.length} fields, but at most ${max} are allowed.`,
        {
          hint: 'Raise "metadata.limits.fields", or put related values into one object field.',
          at: 'key',
        },
      ),
    );
  return [
    ...issues,
    ...checkTemplate(
      metadata.at('injection').at('template'),
      fields.map(([name]) => name),
    ),
  ];
}

function checkDefault(field: DocumentNode): readonly Issue[] {
  const given = field.at('default');
  if (given.value === undefined) return [];
  const why = given.value === null ? 'a field without a default is null' : fieldViolation(field)(given.value);
  if (why === undefined) return [];
  return [
    errorAt(given, 'bad_default', `The default does not fit its field: ${why}.`, {
      hint: () => defaultHint(field, given.value),
    }),
  ];
}

function defaultHint(field: DocumentNode, value: Json | undefined): string {
  const allowed = field.at('values').value;
  const near =
    typeof value === 'string' && Array.isArray(allowed)
      ? nearest(
          value,
          allowed.filter((each): each is string => typeof each === 'string'),
        )
      : undefined;
  return near === undefined ? 'Correct it, or remove it.' : `Did you mean "${near}"?`;
}

function checkRange(field: DocumentNode): readonly Issue[] {
  const min = field.at('min');
  const max = field.at('max').value;
  if (typeof min.value !== 'number' || typeof max !== 'number' || min.value <= max) return [];
  return [
    errorAt(min, 'empty_range', `The minimum ${min.value} is greater than the maximum ${max}.`, {
      hint: 'Swap them.',
    }),
  ];
}

function checkEnum(field: DocumentNode): readonly Issue[] {
  const values = field.at('values');
  const seen = new Set<unknown>();
  return values.items().flatMap((item) => {
    if (!seen.has(item.value)) {
      seen.add(item.value);
      return [];
    }
    return [
      errorAt(item, 'duplicate', `The value ${JSON.stringify(item.value)} is listed twice.`, {
        hint: 'Remove one of them.',
      }),
    ];
  });
}

/** `{fields} {current} {errors} {values.NAME}`; on a line that begins `- NAME:` also `{values}` and `{current_value}`. */
function checkTemplate(template: DocumentNode, fields: readonly string[]): readonly Issue[] {
  const text = template.text() ?? '';
  const issues: Issue[] = [];
  for (const match of text.matchAll(/\{([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z_][A-Za-z0-9_]*))?\}/g)) {
    const [whole, word = '', field] = match;
    const known = TEMPLATE_WORDS.includes(word);
    if (known && field === undefined && OF_A_LINE.includes(word)) {
      const own = FIELD_LINE.exec(text.slice(text.lastIndexOf('\n', match.index) + 1))?.[1];
      if (own === undefined || !fields.includes(own)) issues.push(ofNoField(template, match, own, fields));
      continue;
    }
    if (known && (field === undefined || (word === 'values' && fields.includes(field)))) continue;
    const near = known && field !== undefined ? nearest(field, fields) : nearest(word, TEMPLATE_WORDS);
    const hint = `${near === undefined ? '' : `Did you mean "${near}"? `}Placeholders: {fields} {current} {errors} {values.NAME}${fields.length > 0 ? `; fields: ${fields.join(', ')}` : ''}.`;
    issues.push(
      errorAt(template, 'unknown_placeholder', `The template has no placeholder ${whole}.`, {
        hint,
        offset: match.index,
      }),
    );
  }
  return issues;
}

function ofNoField(
  template: DocumentNode,
  { 0: whole, index }: RegExpExecArray,
  own: string | undefined,
  fields: readonly string[],
): Issue {
  const near = own === undefined ? undefined : nearest(own, fields);
  const meant = near === undefined ? '' : `Did you mean "- ${near}:"? `;
  return errorAt(template, 'unknown_placeholder', `${whole} is on a line that belongs to no field.`, {
    hint: `${meant}Begin the line with "- NAME:", or write {values.NAME}${fields.length > 0 ? `; fields: ${fields.join(', ')}` : ''}.`,
    offset: index,
  });
}
