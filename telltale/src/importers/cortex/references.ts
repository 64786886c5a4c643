import type { SourceMap } from '../source-map.ts';
import { templateOf } from '../values.ts';

/** What `$(…)` and `${…}` of Cortex name: the steps before, and variables such as the item of a loop. */
export interface ReferencesNames {
  /** Names of steps as they are now, by Cortex's. */
  readonly steps: ReadonlyMap<string, string>;
  /** Paths of answers and loop items, by Cortex's names. */
  readonly variables: ReadonlyMap<string, string>;
}

/** Where a reference stands, for the report. */
export interface Where {
  readonly fields: SourceMap;
  readonly key: string;
}

const REFERENCE = /\$\(([^()]+)\)|\$\{([^{}]+)\}|\$(TIMESTAMP|WORKFLOW_ID)\b/g;

/** A text of a step as a template. What is missing is empty, as in Cortex. */
export function toTemplate(text: string, names: ReferencesNames, where: Where): string {
  const isWhole = new RegExp(`^(?:${REFERENCE.source})$`).test(text);
  return templateOf(text, REFERENCE, (found) => {
    const path = pathOf(found[1] ?? found[2] ?? found[3] ?? '', names, where);
    return path === undefined ? undefined : `\${${path} ?? ${isWhole ? 'null' : "''"}}`;
  });
}

/** A path of Cortex as one of ours; undefined, with a word in the report, if nothing corresponds to it. */
export function pathOf(
  source: string,
  { steps, variables }: ReferencesNames,
  where: Where,
): string | undefined {
  const parts = source.trim().split('.');
  const [head = '', ...rest] = parts;
  const join = (begin: string, end: readonly string[]) => [begin, ...end].join('.');
  if (head === 'TIMESTAMP') return 'run.started_at';
  if (head === 'WORKFLOW_ID') return 'run.id';
  if (head === 'input' || head === 'trigger') return join('input', rest);
  if (head === 'session_id' || head === 'workspace_path' || head === 'metadata') return join('agent', parts);
  const variable = variables.get(head);
  if (variable !== undefined) return join(variable, rest);
  const [id = '', ...inside] = head === 'steps' ? rest : parts;
  const step = steps.get(id);
  if (step === undefined) {
    where.fields.note(where.key, 'left', `${source} stays as it is written: no step before has that name`);
    return undefined;
  }
  const [first, ...more] = inside;
  if (first === 'success' && more.length === 0) return `steps.${step}.status`;
  // The whole result is what Cortex calls output or result.
  return join(`steps.${step}.output`, first === 'output' || first === 'result' ? more : inside);
}

const COMPARISON = /^(.+?)\s*(==|!=|>=|<=|>|<)\s*(.+)$/s;

/** A condition as CEL. A path that does not exist makes it false. */
export function celOf(source: string, names: ReferencesNames, where: Where): string {
  const [, left = source, operator, right = 'true'] = COMPARISON.exec(source.trim()) ?? [];
  const named = /^(?:\$[({](.+)[)}]|([A-Za-z_][\w.]*))$/s.exec(left.trim());
  const path = named === null ? undefined : pathOf(named[1] ?? named[2] ?? '', names, where);
  if (path === undefined) {
    where.fields.note(where.key, 'left', `the condition ${source} cannot be expressed, and never holds`);
    return 'false';
  }
  if (/^steps\.[\w-]+\.status$/.test(path))
    return `${path} ${(right.trim() === 'false') === (operator === '!=' || operator === undefined) ? '==' : '!='} 'completed'`;
  const parts = path.split('.');
  const known = parts[0] === 'steps' ? 3 : 1;
  const guards = parts.slice(known).map((_, index) => `has(${parts.slice(0, known + index + 1).join('.')})`);
  const test =
    operator === undefined ? `!(${path} in [null, false, 0, ''])` : `${path} ${operator} ${celValue(right)}`;
  return [...guards, test].join(' && ');
}

function celValue(text: string): string {
  const quoted = /^(['"])(.*)\1$/s.exec(text.trim())?.[2];
  const isPlain = /^(true|false|null|-?\d+(\.\d+)?)$/.test(text.trim());
  return isPlain ? text.trim() : JSON.stringify(quoted ?? text.trim());
}
