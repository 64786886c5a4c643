import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { z } from 'zod';
import type { JsonObject } from '../../kernel/json.ts';
import type { WrittenStep } from '../../manifest/schema/steps/step.ts';
import type { workflow } from '../../manifest/schema/workflow.ts';
import { type Schema, standardOf } from './schema.ts';
import type { Written } from './written.ts';

type WorkflowDocument = z.input<ReturnType<typeof workflow>>;
type OwnKeys = '$schema' | 'kind' | 'input' | 'steps' | 'states';
type StateDocument = NonNullable<WorkflowDocument['states']>[string];

/** The keys of the manifest that are the same in code. */
type Sections = Written<Omit<WorkflowDocument, OwnKeys>>;

/** A step, as in a manifest. */
export type StepDefinition = Written<WrittenStep>;

export interface StateDefinition extends Written<Omit<StateDocument, 'steps'>> {
  /** What runs when it is entered. */
  readonly steps?: readonly StepDefinition[];
}

/** A workflow, written in code. Keys, defaults and checks are those of a manifest (docs/workflows.md). */
export interface WorkflowDefinition<Input extends Schema> extends Sections {
  /** Checked before a run begins; what it gives is the run's input. Any object without it. */
  readonly input?: Input;
  /** The JSON Schema of `input` that models read, where the library cannot write it itself. */
  readonly jsonSchema?: JsonObject;
  /** What runs: in order, or as a graph where `needs` is given. */
  readonly steps?: readonly StepDefinition[];
  /** A machine in place of steps. */
  readonly states?: Readonly<Record<string, StateDefinition>>;
}

/** What a run may be given: what the schema takes. */
export type InputOf<Input> = Input extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Input> : JsonObject;

/** A workflow that agents can be given, whose runs take `Input`. Checked with the first agent that it is given to. */
export interface DefinedWorkflow<Input = JsonObject> {
  readonly kind: 'Workflow';
  readonly name: string;
  readonly definition: object;
  /** Where `input` is a schema of a library's own. */
  readonly input?: StandardSchemaV1<Input> | undefined;
}

/** A workflow whose input is typed by its schema: Zod, Valibot, ArkType, any Standard Schema, or JSON Schema. */
export function defineWorkflow<Input extends Schema = JsonObject>(
  definition: WorkflowDefinition<Input>,
): DefinedWorkflow<InputOf<Input>> {
  return Object.freeze({
    kind: 'Workflow',
    name: definition.name,
    definition: Object.freeze({ ...definition }),
    input: standardOf(definition.input) as StandardSchemaV1<InputOf<Input>> | undefined,
  });
}
