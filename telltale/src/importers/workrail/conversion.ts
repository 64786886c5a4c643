import { parseExpression } from '../../conditions/cel/parse-expression.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { IssuePath } from '../../manifest/issue.ts';
import { type Names, nameOf } from '../names.ts';
import type { Place, Report } from '../report.ts';
import type { Checks } from './checks.ts';
import type { WorkrailWorkflow } from './shape.ts';
import type { Condition } from './shape-condition.ts';
import type { FunctionDefinition } from './shape-step.ts';
import { toCel } from './to-cel.ts';
import { toTemplate } from './to-template.ts';
import type { Variables } from './variables.ts';

export interface ConvertOptions {
  /** When somebody is asked to confirm a step. */
  readonly confirm: 'after' | 'before';
  /** Who works on tasks of a tier; undefined where no agents are made. */
  readonly tierAgent: (tier: string) => string | undefined;
  /** A routine by the id of its template, where it is at hand. */
  readonly routine: (templateId: string) => WorkrailWorkflow | undefined;
}

export interface ComputedValues {
  readonly name: string;
  readonly values: Map<string, string>;
}

/** One conversion in hand. */
export interface Conversion {
  readonly workflow: WorkrailWorkflow;
  readonly options: ConvertOptions;
  readonly report: Report;
  readonly stepNames: Names;
  readonly variables: Variables;
  readonly checks: Checks;
  /** The name of the artifact that checks notes. */
  readonly checksName: string;
  /** Steps with prompt blocks, which features join, by their names here. */
  readonly blockSteps: string[];
  /** What the texts of the step in hand work out: a script before it does. */
  computed: ComputedValues | undefined;
  /** Tiers of models that steps ask for, each with its agent. */
  readonly tiers: Map<string, string>;
  /** Steps as they are now, with WorkRail's ids of what they were made of. */
  readonly origins: Map<JsonObject, string>;
}

/** A name of a loop's in CEL and in `${…}`. */
export interface LoopName {
  readonly cel: string;
  readonly reference: string;
}

/** What is around a step. */
export interface Around {
  /** Where it stands in its file; undefined where it comes from another. */
  readonly path: IssuePath | undefined;
  /** The loop's counter, item and index, by WorkRail's names. */
  readonly names: ReadonlyMap<string, LoopName>;
  /** What has to hold beside its own condition: the test of its loop, which WorkRail asks before every step. */
  readonly guard?: string | undefined;
  /** The variable that `wr.loop_control` sets here. */
  readonly decision?: string | undefined;
  /** Functions that the loop defines. */
  readonly functions: readonly FunctionDefinition[];
}

/** A condition as CEL; what cannot be said as it is meant is noted. */
export function celOf(
  condition: Condition,
  key: string,
  place: Place,
  names: Around['names'],
  { variables, report }: Conversion,
): string {
  const cel = toCel(condition, {
    variable: (name) => names.get(name)?.cel ?? variables.named(name),
    doubt: (what) => report.note(place, key, 'changed', what),
  });
  const parsed = parseExpression(cel);
  if (parsed.ok) return cel;
  // As in WorkRail, where a condition that cannot be worked out does not hold.
  report.note(place, key, 'left', `it cannot be written as a test, and never holds: ${parsed.error.message}`);
  return 'false';
}

/** A text as a template; tokens that stay as they are are noted. */
export function templateOf(
  text: string,
  key: string,
  place: Place,
  names: Around['names'],
  c: Conversion,
): string {
  const { variables, report, workflow } = c;
  return toTemplate(text, {
    reference: (name) => names.get(name)?.reference ?? `vars.${variables.named(name)}`,
    binding(slot) {
      const found = workflow.extensionPoints?.find(({ slotId }) => slotId === slot);
      if (found !== undefined)
        report.note(place, key, 'changed', `{{wr.bindings.${slot}}} is its default, ${found.default}`);
      return found?.default;
    },
    computed(expression) {
      const code = computedCode(
        expression,
        (name) => names.get(name)?.reference ?? `vars.${variables.named(name)}`,
      );
      if (code === undefined) {
        report.note(place, key, 'left', `{{${expression}}} stays as it is written: it is no expression`);
        return undefined;
      }
      report.note(place, key, 'changed', `{{${expression}}} is worked out by a script before the step`);
      c.computed ??= {
        name: c.stepNames.take(`${nameOf(place.step ?? 'workflow')}-values`),
        values: new Map(),
      };
      const { name, values } = c.computed;
      const known = [...values].find(([, each]) => each === code)?.[0] ?? `v${values.size + 1}`;
      values.set(known, code);
      return `steps.${name}.output.${known}`;
    },
  });
}

/** The script that works out what the texts of a step ask for, to stand before it. */
export function computedStep(c: Conversion): readonly JsonObject[] {
  const { computed } = c;
  c.computed = undefined;
  if (computed === undefined) return [];
  const members = [...computed.values].map(([key, code]) => `  ${key}: ${code},`);
  return [{ name: computed.name, type: 'script', script: `${SHOWN}\n({\n${members.join('\n')}\n})` }];
}

/** What cannot be worked out says so, as a reference to nothing does. */
const SHOWN = `const shown = (of, text) => {
  try {
    const value = of();
    if (value !== undefined && value !== null && !Number.isNaN(value)) return value;
  } catch {}
  return '[unset: ' + text + ']';
};`;

const EXPRESSION = /^[\w\s.+\-*/%()?:<>=!&|,'"[\]]+$/;
const WORD = /(?<![\w.'"])[A-Za-z_]\w*(?![\w'"])/g;
const NO_NAMES: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'undefined',
  'Math',
  'Number',
  'String',
]);

/** An expression of JavaScript over WorkRail's variables; undefined where it is something else. */
function computedCode(expression: string, reference: (name: string) => string): string | undefined {
  if (
    !EXPRESSION.test(expression) ||
    /=>|(?<![=!<>])=(?!=)|\b(?:new|function|while|for|await)\b/.test(expression)
  )
    return undefined;
  const code = expression.replace(WORD, (name) => (NO_NAMES.has(name) ? name : reference(name)));
  try {
    new Function(`return (${code});`);
  } catch {
    return undefined;
  }
  return `shown(() => ${code}, ${JSON.stringify(expression)})`;
}
