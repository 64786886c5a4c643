/**
 * The part of the checking artifact that is the same for every workflow: judges notes by WorkRail's criteria. Plain
 * JavaScript for the sandbox, kept small so that whoever imports a workflow can read it.
 */
export const CHECKS_SOURCE = `function judge(criteria, { judged, variables }) {
  const notes = judged.notes ?? '';
  const wrong = faults(criteria, notes, { ...variables, ...judged.context_updates });
  if (wrong.length === 0) return { assessment: 'pass', reasoning: 'The notes are as they must be.' };
  return {
    assessment: 'retry',
    reasoning: wrong.join(' '),
    instruction: 'Complete the step again with notes that meet this: ' + wrong.join(' '),
  };
}

// What is wrong with the notes: nothing where they meet the criteria, or where these do not apply.
function faults(criteria, notes, variables) {
  if (Array.isArray(criteria)) return criteria.flatMap((each) => faults(each, notes, variables));
  if (criteria.and) return faults(criteria.and, notes, variables);
  if (criteria.or) {
    const all = criteria.or.map((each) => faults(each, notes, variables));
    return all.some((each) => each.length === 0) ? [] : ['One of these: ' + all.flat().join(' Or: ')];
  }
  if (criteria.not)
    return faults(criteria.not, notes, variables).length > 0 ? [] : ['Not this: ' + said(criteria.not)];
  if (criteria.condition && !holds(criteria.condition, variables)) return [];
  return meets(criteria, notes) ? [] : [said(criteria)];
}

function said(criteria) {
  if (Array.isArray(criteria)) return criteria.map(said).join(' ');
  return criteria.message ?? JSON.stringify(criteria.and ?? criteria.or ?? criteria.not ?? criteria);
}

function meets(rule, notes) {
  switch (rule.type) {
    case 'contains':
      return notes.includes(rule.value);
    case 'regex':
      return new RegExp(rule.pattern, rule.flags).test(notes);
    case 'length':
      return notes.length >= (rule.min ?? 0) && notes.length <= (rule.max ?? Infinity);
    case 'schema':
      try {
        return fits(rule.schema, JSON.parse(notes));
      } catch {
        return false;
      }
  }
}

function holds(condition, variables) {
  if (condition.and) return condition.and.every((each) => holds(each, variables));
  if (condition.or) return condition.or.some((each) => holds(each, variables));
  if (condition.not) return !holds(condition.not, variables);
  const value = variables[condition.var] ?? null;
  const text = value === null ? '' : String(value).trim().toLowerCase();
  const has = (key) => condition[key] !== undefined;
  const number = typeof value === 'number';
  if (has('equals')) return alike(value, condition.equals);
  if (has('not_equals')) return !alike(value, condition.not_equals);
  if (has('gt')) return number && value > condition.gt;
  if (has('gte')) return number && value >= condition.gte;
  if (has('lt')) return number && value < condition.lt;
  if (has('lte')) return number && value <= condition.lte;
  if (has('contains')) return text.includes(condition.contains.trim().toLowerCase());
  if (has('startsWith')) return text.startsWith(condition.startsWith.trim().toLowerCase());
  if (has('endsWith')) return text.endsWith(condition.endsWith.trim().toLowerCase());
  if (has('matches')) return new RegExp(condition.matches, 'i').test(value === null ? '' : String(value).trim());
  if (has('in')) return condition.in.some((each) => alike(value, each));
  return Boolean(value);
}

// "Large " is "large", the text "3" is 3, and "yes" is true.
function alike(a, b) {
  if (a === null || b === null) return a === b;
  if (typeof a === 'string' && typeof b === 'string') return a.trim().toLowerCase() === b.trim().toLowerCase();
  if (typeof b === 'string') return typeof a === 'string' ? false : alike(b, a);
  if (typeof a === 'string' && typeof b === 'number') return a.trim() !== '' && Number(a) === b;
  if (typeof a === 'string' && typeof b === 'boolean')
    return (b ? ['true', '1', 'yes'] : ['false', '0', 'no']).includes(a.trim().toLowerCase());
  return a === b;
}

// The keywords of JSON Schema that WorkRail's rules use.
function fits(schema, value) {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const types = [schema.type ?? []].flat();
  const isType = (each) => each === type || (each === 'integer' && Number.isInteger(value));
  if (types.length > 0 && !types.some(isType)) return false;
  if (schema.enum && !schema.enum.some((each) => JSON.stringify(each) === JSON.stringify(value))) return false;
  if (schema.const !== undefined && JSON.stringify(schema.const) !== JSON.stringify(value)) return false;
  if (type === 'string')
    return (
      value.length >= (schema.minLength ?? 0) &&
      value.length <= (schema.maxLength ?? Infinity) &&
      (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value))
    );
  if (type === 'number') return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
  if (type === 'array')
    return (
      value.length >= (schema.minItems ?? 0) &&
      value.length <= (schema.maxItems ?? Infinity) &&
      value.every((each) => fits(schema.items ?? {}, each))
    );
  if (type !== 'object') return true;
  const known = schema.properties ?? {};
  return (
    (schema.required ?? []).every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, each]) =>
      Object.hasOwn(known, key) ? fits(known[key], each) : schema.additionalProperties !== false,
    )
  );
}
`;

/** The keywords that \`fits\` above knows. */
export const KNOWN_KEYWORDS: ReadonlySet<string> = new Set([
  ...[
    'type',
    'enum',
    'const',
    'minLength',
    'maxLength',
    'pattern',
    'minimum',
    'maximum',
    'minItems',
    'maxItems',
  ],
  ...['items', 'properties', 'required', 'additionalProperties', 'title', 'description', '$schema'],
]);
