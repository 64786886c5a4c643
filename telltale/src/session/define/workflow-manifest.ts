import type { CodeManifest } from '../../manifest/project/code-manifest.ts';
import type { Found } from './code-findings.ts';
import type { DefinedWorkflow } from './define-workflow.ts';
import { standardOf } from './schema.ts';
import { shownSchema } from './shown-schema.ts';
import type { WorkflowCode } from './workflow-code.ts';

/** A workflow as the checks of manifests see it. */
export async function workflowManifest(
  workflow: DefinedWorkflow<unknown>,
  folder: string,
): Promise<CodeManifest> {
  const { input, jsonSchema, ...settings } = workflow.definition as Readonly<Record<string, unknown>>;
  const findings: Found[] = [];
  const shown = await shownSchema(input, jsonSchema, ['input'], findings);
  const code: WorkflowCode = { input: standardOf(input) };
  return {
    label: `defineWorkflow(${JSON.stringify(workflow.name) ?? ''})`,
    folder,
    value: { ...settings, kind: 'Workflow', ...(shown === undefined ? {} : { input: shown }) },
    identity: workflow,
    code,
    pinned: {},
    writtenAt: (path) =>
      path[0] === 'input' && jsonSchema !== undefined ? ['jsonSchema', ...path.slice(1)] : path,
    findings,
    imports: [],
  };
}
