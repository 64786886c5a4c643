import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { calledWorkflows, clientRefusal } from '../../agent/runs/client-worker.ts';
import type { LoadedWorkflow } from '../../agent/runs/run-types.ts';
import { workflowsOf } from '../../agent/runs/run-types.ts';
import type { JsonObject } from '../../lib/json.ts';
import { claimWithOurNames } from '../../workflows/guided/check-claim.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import type { AgentToolsToolCall, ServedTool } from './agent-tools.ts';
import type { ClientCall, ContinueArguments, StartArguments, WorkflowCalls } from './workflow-calls.ts';
import { type ServeCatalog, workflowIn } from './workflow-calls.ts';

/** The only tool that accepts a token. */
export const CONTINUE = 'continue_workflow';

const text = (description: string) => ({ type: 'string', description });

/** The output of start, continue and resume. */
const ANSWER: Tool['outputSchema'] = {
  type: 'object',
  properties: {
    run: text('The run: what resume_session takes.'),
    isComplete: { type: 'boolean', description: 'Whether the workflow is done.' },
    continueToken: text('What continue_workflow takes, once, for the step below.'),
    step: {
      type: 'object',
      description: 'What to do now.',
      properties: {
        prompt: text('What to do.'),
        instruction: text('What was missing the last time: the step is to be done again, or better.'),
        requires: {
          type: 'object',
          description: 'Keys that context_updates must have, each with its JSON Schema.',
        },
        accepts: { type: 'object', description: 'Keys that it may have, too.' },
      },
      required: ['prompt'],
    },
    waitingFor: {
      type: 'object',
      description: 'What the run waits for, where there is no step to do.',
      properties: {
        what: text('What it is.'),
        until: text('Until when, at the latest.'),
        hint: text('What to do.'),
      },
      required: ['what', 'hint'],
    },
    output: { description: 'The result of the workflow, once it is complete.' },
    notice: text('What else there is to know.'),
    error: { type: 'object', description: 'Why the run has failed.' },
    runs: { type: 'array', description: 'Runs that are open.', items: { type: 'object' } },
  },
};

const STARTS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };
const READS = { readOnlyHint: true, openWorldHint: false };

/** The five tools that guide a client's model through a workflow, one step at a time. */
export function workflowTools(catalog: ServeCatalog, calls: WorkflowCalls): readonly ServedTool[] {
  return [
    {
      definition: {
        name: 'list_workflows',
        title: 'List workflows',
        description: 'Lists the workflows that can be started.',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
        annotations: READS,
      },
      call: async () => ({
        structured: { workflows: [...catalog.workflows].map(([name, each]) => summaryOf(name, each)) },
      }),
    },
    {
      definition: {
        name: 'inspect_workflow',
        title: 'Inspect a workflow',
        description:
          'Says what a workflow is for, what input it takes, how many tasks it may ask you to do and whether people are asked.',
        inputSchema: objectOf({ workflow: text('Its name, as list_workflows gives it.') }, ['workflow']),
        annotations: READS,
      },
      call: async ({ workflow }) => {
        const name = String(workflow);
        return { structured: describeWorkflow(name, workflowIn(catalog, name)) };
      },
    },
    {
      definition: {
        name: 'start_workflow',
        title: 'Start a workflow',
        description:
          'Starts a workflow and gives its first step. Do what the step says, then call continue_workflow with its continueToken.',
        inputSchema: objectOf(
          {
            workflow: text('Its name, as list_workflows gives it.'),
            goal: text('What you want to reach: the same as "goal" in the input.'),
            input: { type: 'object', description: 'Its input; inspect_workflow gives the schema.' },
          },
          ['workflow'],
        ),
        outputSchema: ANSWER,
        annotations: STARTS,
      },
      call: (args, call) => calls.start(args as unknown as StartArguments, clientCall(call)),
    },
    {
      definition: {
        name: CONTINUE,
        title: 'Complete a step',
        description:
          'Says that the step in hand is done, and gives the next one. Calling it again with the same token is safe: it gives the same answer.',
        inputSchema: objectOf(
          {
            continueToken: text('The token that came with the step, unchanged.'),
            notes: text('What you did and what came of it, in your own words: at least 50 characters.'),
            context_updates: { type: 'object', description: 'Values for the keys that the step asks for.' },
            artifacts: { type: 'array', description: 'Results worth keeping: JSON, or where they are.' },
          },
          ['continueToken', 'notes'],
        ),
        outputSchema: ANSWER,
        annotations: { ...STARTS, idempotentHint: true },
      },
      underOurNames: claimWithOurNames,
      call: (args, call) => calls.continue(args as ContinueArguments, clientCall(call)),
    },
    {
      definition: {
        name: 'resume_session',
        title: 'Resume a run',
        description:
          'Gives the step in hand of a run again, with a token. Without "run" it lists the runs that are open.',
        inputSchema: objectOf({ run: text('The run, as start_workflow gave it.') }, []),
        outputSchema: ANSWER,
        annotations: { ...STARTS, idempotentHint: true },
      },
      call: ({ run }, call) => calls.resume(run === undefined ? undefined : String(run), clientCall(call)),
    },
  ];
}

function clientCall({ client, identity, signal, progress }: AgentToolsToolCall): ClientCall {
  let told = 0;
  const onMoved = (done: number) => {
    if (done > told) progress?.(done === 1 ? '1 step is done' : `${done} steps are done`);
    told = done;
  };
  return { client, identity, signal, ...(progress === undefined ? {} : { onMoved }) };
}

const objectOf = (properties: JsonObject, required: readonly string[]): Tool['inputSchema'] => ({
  type: 'object',
  properties: properties as Record<string, object>,
  required: [...required],
  additionalProperties: false,
});

/** What a client may know about a workflow before it starts: its requirements, but never the content of its steps. */
function describeWorkflow(name: string, { manifest, agent }: LoadedWorkflow<unknown>): JsonObject {
  const all = workflowsOf(agent);
  const steps = [...calledWorkflows(manifest, all)].flatMap((each) => allSteps(each));
  const tasks = steps.filter(({ type }) => type === 'task').length;
  const refusal = clientRefusal(manifest, all);
  return {
    ...summaryOf(name, { manifest, agent }),
    ...(manifest.version === undefined ? {} : { version: manifest.version }),
    input: (manifest.input ?? { type: 'object' }) as JsonObject,
    /** Loops and branches decide how many of them are reached. */
    tasks,
    asksPeople: steps.some(mayAskPeople),
    ...(refusal === undefined ? {} : { refusal: `${refusal.message} ${refusal.hint ?? ''}`.trim() }),
  };
}

const summaryOf = (
  name: string,
  { manifest, agent }: Pick<LoadedWorkflow<unknown>, 'manifest' | 'agent'>,
): JsonObject => ({
  workflow: name,
  description: manifest.description ?? '',
  agent: agent.manifest.name,
});

type WorkflowToolsStep = ReturnType<typeof allSteps>[number];

/** A verification that does not succeed leaves the decision to a person. */
const mayAskPeople = (step: WorkflowToolsStep): boolean =>
  step.type === 'approval' ||
  (step.type === 'task' && (step.confirm !== undefined || step.verify !== undefined)) ||
  (step.type === 'plan' && (step.approval === 'always' || step.verify !== undefined));
