import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { DeclaredVariables } from '../declared-variables.ts';
import { nameOf } from '../names.ts';
import { conditionToCel } from '../python.ts';
import { defined, templateOf, textOf } from '../values.ts';

/** What the simulation fills in before each step, with what stands there until somebody sets it. */
const WORLD: Readonly<Record<string, Json>> = {
  tick: 0,
  balance: 0,
  time_remaining: '(unknown)',
  progress_percent: '0%',
  success_rate: '0/0',
  success_rate_numeric: 0,
  revenue_earned: 0,
  artifacts_completed: 0,
  artifacts: '(none)',
  my_artifacts: '(none)',
  other_agents: '(none)',
  memories: '(none)',
  recent_actions: '(none)',
  action_history: '(no actions yet)',
  action_insights: '(none)',
  last_action: '(none)',
  last_action_result: '(no previous action)',
  economic_context: '(unknown)',
};

/** The variables of an agent's workflow: those that prompts, conditions and code steps name. */
export class WorldVariables extends DeclaredVariables {
  readonly #booleans = new Set<string>();
  readonly #known: JsonObject;

  constructor(known: JsonObject) {
    super();
    this.#known = known;
  }

  /** The variable's name in CEL and templates. */
  use(written: string, isTest = false): string {
    const known = this.#known[written] ?? WORLD[written];
    if (known === undefined && isTest && !this.has(written)) this.#booleans.add(written);
    return this.named(written, { type: 'any', default: known ?? (isTest ? false : '') });
  }

  /** Declares it as a number, because something is compared with it. */
  number(written: string): void {
    this.named(written, { type: 'any', default: this.#known[written] ?? 0 });
  }

  isBoolean(written: string): boolean {
    return this.#booleans.has(written);
  }
}

const PLACEHOLDER = /\{\{|\}\}|\{([A-Za-z_]\w*)((?:\.\w+|\[\w+\])*)(![rsa])?(:[^{}]*)?\}/g;

export interface PromptsTemplate {
  readonly text: string;
  /** Formats such as `:+.0f` that are gone. */
  readonly formats: readonly string[];
}

/**
 * A prompt of Python's `str.format` as a template: `{name}` is a variable, `{{` a brace. Other braces are text; in
 * agent_ecology2 one of them keeps the whole prompt from being filled in.
 */
export function toTemplate(written: string, variables: WorldVariables): PromptsTemplate {
  const formats: string[] = [];
  const text = templateOf(written, PLACEHOLDER, ([whole, name, path = '', , format]) => {
    if (name === undefined) return whole.charAt(0);
    if (format !== undefined) formats.push(whole);
    const fallback = path === '' ? '' : " ?? ''";
    return `\${vars.${variables.use(name)}${path.replace(/\[(\w+)\]/g, '.$1')}${fallback}}`;
  });
  return { text, formats };
}

/** A condition in Python over variables as CEL; undefined if it could not be converted. */
export function toCondition(written: string, variables: WorldVariables): string | undefined {
  // Of `x and y < 3`, x is a truth and y a number: what stands next to no operator is true or false.
  const alone = new Set(
    written
      .split(/\band\b|\bor\b|\bnot\b|[()]/)
      .map((part) => part.trim())
      .filter((part) => /^[A-Za-z_]\w*$/.test(part)),
  );
  const compared = /[<>]|[-+*/%]/.test(written);
  return conditionToCel(written, {
    reference: (name) => {
      const [root = '', ...path] = name.split('.');
      const isAlone = alone.has(root);
      if (!isAlone && compared && WORLD[root] === undefined) variables.number(root);
      return ['vars', variables.use(root, isAlone), ...path].join('.');
    },
    isBoolean: (name) => variables.isBoolean(name),
  });
}

/**
 * A decision that an artifact takes, `{invoke, method, args, fallback}`. Texts in `args` may name variables. Without a
 * fallback it has the one that is given.
 */
export function toInvocation(value: JsonObject, variables: WorldVariables, fallback: Json): JsonObject {
  const args = Array.isArray(value.args) ? (value.args as readonly Json[]) : [];
  return defined({
    invoke: nameOf(textOf(value.invoke) ?? 'decider'),
    method: nameOf(textOf(value.method) ?? 'decide'),
    args:
      args.length === 0
        ? undefined
        : args.map((each) => (typeof each === 'string' ? toTemplate(each, variables).text : each)),
    fallback: value.fallback ?? fallback,
  });
}

/** The keys of an invocation. */
export const INVOCATION = 'invoke method args fallback';

export const isInvocation = (value: Json | undefined): value is JsonObject =>
  isJsonObject(value) && value.invoke !== undefined;
