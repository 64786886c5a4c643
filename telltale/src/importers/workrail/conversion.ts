import { parseExpression } from '../../expressions/cel/parse-expression.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { IssuePath } from '../../manifest/diagnostic.ts';
import { createNames, nameOf } from '../names.ts';
import { createReport, type ReportOutcome } from '../report.ts';
import { Checks } from './criteria.ts';
import { computedCode, ExpressionsVariables, SHOWN, toCel, toTemplate } from './expressions.ts';
import type { WorkrailFile } from './read.ts';
import type { BodyStep, FunctionDefinition, ShapeCondition, WorkrailWorkflow } from './shape.ts';

export interface ConvertOptions {
  /** When somebody is asked to confirm a step. */
  readonly confirm: 'after' | 'before';
  /** Who works on tasks of a tier; undefined where no agents are made. */
  readonly tierAgent: (tier: string) => string | undefined;
  /** A routine by the id of its template, where it is at hand. */
  readonly routine: (templateId: string) => WorkrailWorkflow | undefined;
}

/** A step of a body, and where it stands. */
export interface PlacedBody {
  readonly step: BodyStep;
  readonly path: IssuePath | undefined;
}

/** What is around a step. */
export interface Around {
  /** The loop's counter, item and index, by WorkRail's names: in CEL and in `${…}`. */
  readonly names: ReadonlyMap<string, { readonly cel: string; readonly reference: string }>;
  /** What has to hold beside its own condition: the test of its loop, which WorkRail asks before every step. */
  readonly guard?: string | undefined;
  /** The variable that `wr.loop_control` sets here. */
  readonly decision?: string | undefined;
  /** Functions that the loop defines. */
  readonly functions: readonly FunctionDefinition[];
}
export const NOTHING_AROUND: Around = { names: new Map(), functions: [] };

/** One conversion in hand. */
export class Conversion {
  readonly workflow: WorkrailWorkflow;
  readonly report;
  readonly stepNames = createNames();
  readonly variables = new ExpressionsVariables();
  readonly checks = new Checks();
  readonly options: ConvertOptions;
  /** The name of the artifact that checks notes. */
  readonly checksName: string;
  /** Steps with prompt blocks, which features join, by their names here. */
  readonly blockSteps: string[] = [];
  /** Tiers of models that steps ask for, each with its agent. */
  readonly tiers = new Map<string, string>();
  /** Steps as they are now, with WorkRail's ids of what they were made of. */
  readonly origins = new Map<JsonObject, string>();
  /** What the texts of the step in hand work out: a script before it does. */
  computed: { readonly name: string; readonly values: Map<string, string> } | undefined;

  constructor({ workflow, lineOf }: WorkrailFile, checksName: string, options: ConvertOptions) {
    this.workflow = workflow;
    this.checksName = checksName;
    this.options = options;
    this.report = createReport(lineOf);
  }

  /** The script that works out what the texts of a step ask for, to stand before it. */
  takeComputed(): readonly JsonObject[] {
    const { computed } = this;
    this.computed = undefined;
    if (computed === undefined) return [];
    const members = [...computed.values].map(([key, code]) => `  ${key}: ${code},`).join('\n');
    return [{ name: computed.name, type: 'script', script: `${SHOWN}\n({\n${members}\n})` }];
  }
}

/** A step, or the workflow itself, while it is converted: says what becomes of its keys, and writes its texts and tests. */
export class Spot {
  readonly c: Conversion;
  readonly step: string | null;
  readonly path: IssuePath | undefined;
  readonly around: Around;

  constructor(c: Conversion, step: string | null, path: IssuePath | undefined, around = NOTHING_AROUND) {
    this.c = c;
    this.step = step;
    this.path = path;
    this.around = around;
  }

  note(key: string, outcome: ReportOutcome, how: string): void {
    this.c.report.note({ step: this.step, path: this.path }, key, outcome, how);
  }
  kept = (key: string, how: string): void => this.note(key, 'kept', how);
  changed = (key: string, how: string): void => this.note(key, 'changed', how);
  left = (key: string, why: string): void => this.note(key, 'left', why);
  has = (key: string): boolean => this.c.report.has({ step: this.step }, key);

  /** The keys of the step that are there, each kept in the same way. */
  keptKeys(step: object, how: Readonly<Record<string, string>>): void {
    for (const [key, text] of Object.entries(how))
      if ((step as Readonly<Record<string, unknown>>)[key] !== undefined) this.kept(key, text);
  }

  /** A condition as CEL; what cannot be said as it is meant is noted. */
  cel(condition: ShapeCondition, key: string, names = this.around.names): string {
    const cel = toCel(condition, {
      variable: (name) => names.get(name)?.cel ?? this.c.variables.named(name),
      doubt: (what) => this.changed(key, what),
    });
    const parsed = parseExpression(cel);
    if (parsed.ok) return cel;
    // As in WorkRail, where a condition that cannot be worked out does not hold.
    this.left(key, `it cannot be written as a test, and never holds: ${parsed.error.message}`);
    return 'false';
  }

  /** A text as a template; what it works out becomes a script before the step. */
  template(text: string, key: string): string {
    const { c } = this;
    const reference = (name: string) =>
      this.around.names.get(name)?.reference ?? `vars.${c.variables.named(name)}`;
    return toTemplate(text, {
      reference,
      binding: (slot) => {
        const found = c.workflow.extensionPoints?.find(({ slotId }) => slotId === slot);
        if (found !== undefined)
          this.changed(key, `{{wr.bindings.${slot}}} is its default, ${found.default}`);
        return found?.default;
      },
      computed: (expression) => {
        const code = computedCode(expression, reference);
        if (code === undefined) {
          this.left(key, `{{${expression}}} stays as it is written: it is no expression`);
          return undefined;
        }
        this.changed(key, `{{${expression}}} is worked out by a script before the step`);
        const name = c.computed?.name ?? c.stepNames.take(`${nameOf(this.step ?? 'workflow')}-values`);
        c.computed ??= { name, values: new Map() };
        const { values } = c.computed;
        const known = [...values].find(([, each]) => each === code)?.[0] ?? `v${values.size + 1}`;
        values.set(known, code);
        return `steps.${name}.output.${known}`;
      },
    });
  }

  /** A step's own name here. */
  takeName(id: string, kind: string): string {
    const name = this.c.stepNames.take(nameOf(id));
    this.note('id', name === id ? 'kept' : 'changed', `the ${kind} ${name}`);
    return name;
  }

  /** `if`, from the step's own condition. */
  runCondition({ runCondition }: { readonly runCondition?: ShapeCondition | undefined }): string | undefined {
    if (runCondition === undefined) return undefined;
    this.kept('runCondition', 'if');
    return this.cel(runCondition, 'runCondition');
  }
}
