import { parseExpression } from '../../expressions/cel/parse-expression.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { IssuePath } from '../../manifest/diagnostic.ts';
import { DeclaredVariables } from '../declared-variables.ts';
import type { ImportOptions } from '../importer.ts';
import { createNames, nameOf } from '../names.ts';
import { createReport } from '../report.ts';
import { SourceMap } from '../source-map.ts';
import { toCel } from './conditions.ts';
import { Checks } from './criteria.ts';
import type { WorkrailFile } from './read-workflow.ts';
import { computedCode, computedScript, toTemplate } from './templates.ts';
import type {
  FunctionDefinition,
  WorkrailCondition,
  WorkrailStep,
  WorkrailWorkflow,
} from './workflow-schema.ts';

/** What the conversion of one workflow has collected so far. */
export class WorkflowContext {
  readonly workflow: WorkrailWorkflow;
  /** Its name here. */
  readonly name: string;
  readonly options: ImportOptions;
  /** Routines that its steps may call, by the ids of their templates. */
  readonly routines: ReadonlyMap<string, WorkrailWorkflow>;
  readonly report;
  readonly stepNames = createNames();
  readonly variables = new DeclaredVariables();
  readonly checks: Checks;
  /** Names of steps with prompt blocks: features add text to them. */
  readonly blockSteps: string[] = [];
  /** Model tiers that steps ask for, each with its agent. */
  readonly tiers = new Map<string, string>();
  /** Names of models that steps and verifiers use. */
  readonly models = new Set<string>();
  /** The id in WorkRail of each converted step, by its name here. */
  readonly origins = new Map<string, string>();

  constructor(
    file: WorkrailFile,
    name: string,
    routines: WorkflowContext['routines'],
    options: ImportOptions,
  ) {
    this.workflow = file.workflow;
    this.name = name;
    this.options = options;
    this.routines = routines;
    this.report = createReport(file.lineOf);
    this.checks = new Checks(name);
  }
}

/** The variables of a loop by their names in WorkRail: what stands for each in CEL, and in `${…}`. */
export type LoopVariables = ReadonlyMap<string, { readonly cel: string; readonly reference: string }>;

/** What a loop gives to the steps of its body. */
export interface LoopScope {
  readonly names: LoopVariables;
  /** The test of the loop, which WorkRail repeats before each step. */
  readonly guard?: string | undefined;
  /** The variable that takes the place of the artifact `wr.loop_control`. */
  readonly decision?: string | undefined;
  readonly functions: readonly FunctionDefinition[];
}

/** One step, or the workflow itself, during its conversion: reads its keys and converts its texts and tests. */
export class StepContext extends SourceMap {
  readonly flow: WorkflowContext;
  readonly around: LoopScope;
  readonly #computed = new Map<string, string>();
  #computedName: string | undefined;

  constructor(
    flow: WorkflowContext,
    step: WorkrailStep | WorkrailWorkflow,
    path: IssuePath | undefined,
    around: Partial<LoopScope> = {},
  ) {
    super(step, step === flow.workflow ? null : step.id, path, flow.report);
    this.flow = flow;
    this.around = { names: new Map(), functions: [], ...around };
  }

  /** A condition as CEL. One that cannot be converted is reported and never holds. */
  cel(condition: WorkrailCondition, key: string, names = this.around.names): string {
    const cel = toCel(condition, {
      variable: (name) => names.get(name)?.cel ?? this.flow.variables.named(name),
      doubt: (what) => this.note(key, 'changed', what),
    });
    const parsed = parseExpression(cel);
    if (parsed.ok) return cel;
    this.note(key, 'left', `it cannot be written as a test, and never holds: ${parsed.error.message}`);
    return 'false';
  }

  /** A text as a template. What it computes becomes a script: see `computedStep`. */
  template(text: string, key: string): string {
    const reference = (name: string) =>
      this.around.names.get(name)?.reference ?? `vars.${this.flow.variables.named(name)}`;
    return toTemplate(text, {
      reference,
      binding: (slot) => {
        const found = this.flow.workflow.extensionPoints?.find(({ slotId }) => slotId === slot)?.default;
        if (found !== undefined)
          this.note(key, 'changed', `{{wr.bindings.${slot}}} is its default, ${found}`);
        return found;
      },
      computed: (expression) => {
        const code = computedCode(expression, reference);
        if (code === undefined)
          this.note(key, 'left', `{{${expression}}} stays as it is written: it is no expression`);
        else this.note(key, 'changed', `{{${expression}}} is worked out by a script before the step`);
        return code === undefined ? undefined : this.#computedValue(code);
      },
    });
  }

  #computedValue(code: string): string {
    this.#computedName ??= this.flow.stepNames.take(`${nameOf(this.label ?? 'workflow')}-values`);
    const key = this.#computed.get(code) ?? `v${this.#computed.size + 1}`;
    this.#computed.set(code, key);
    return `steps.${this.#computedName}.output.${key}`;
  }

  /** The script that computes what the texts of the step ask for; it comes before the step. */
  computedStep(): readonly JsonObject[] {
    if (this.#computedName === undefined) return [];
    return [{ name: this.#computedName, type: 'script', script: computedScript(this.#computed) }];
  }

  /** A unique name for the step. */
  takeName(kind: string): string {
    const name = this.flow.stepNames.take(nameOf(this.label ?? ''));
    this.renamed('id', name, `the ${kind}`);
    return name;
  }

  /** `if`, from the step's own condition. */
  runCondition({
    runCondition,
  }: {
    readonly runCondition?: WorkrailCondition | undefined;
  }): string | undefined {
    if (runCondition === undefined) return undefined;
    this.kept('runCondition', 'if');
    return this.cel(runCondition, 'runCondition');
  }
}
