import type { Json, JsonObject } from '../../kernel/json.ts';
import { nameOf } from '../names.ts';
import { SourceFields } from '../report.ts';
import { given, listOf, literal, mapOf, textOf } from '../values.ts';
import { Steps } from './convert-workflow.ts';
import { addNeeds, type Converted, type Cortex, headOf, LISTS, noNeeds, type Unit } from './import-cortex.ts';

/**
 * A manifest of metadata: its fields and its page become those of the agents that import it, and each hook a workflow
 * that they import.
 */
export function convertMetadata(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const { about, version, description } = headOf(fields);
  fields.kept('fields', 'metadata.fields of the agents that import it');
  fields.kept('injection', 'metadata.injection of the agents that import it');
  fields.left('environment', 'settings of Cortex');
  const needs = noNeeds();
  const dependencies = fields.map('dependencies');
  for (const list of LISTS) context.resolve(list, dependencies, unit, needs);
  dependencies.rest();
  const hooks = listOf(fields.kept('metadata_hooks', 'a workflow for each hook'));
  const manifests = hooks.map((each, index) => {
    const hook = mapOf(each);
    const id = nameOf(textOf(hook.id) ?? `hook-${index + 1}`);
    const path = ['metadata_hooks', index];
    const own = new SourceFields(hook, { step: id, path }, unit.report);
    own.kept('id', `workflow ${name}-${id}`);
    const purpose = textOf(own.kept('description'));
    const when = own.map('when');
    const conditions = mapOf(when.kept('metadata', 'a trigger of type metadata_match'));
    when.rest();
    const steps = new Steps(unit, context, { onError: 'continue' });
    const list = steps.list(own.kept('actions', 'steps; one that fails does not stop the others'), [
      ...path,
      'actions',
    ]);
    own.rest();
    addNeeds(needs, steps.needs);
    const manifest = {
      kind: 'Workflow',
      name: `${name}-${id}`,
      ...given({ version, description: purpose && literal(purpose) }),
      trigger: { type: 'metadata_match', conditions },
      steps: list,
    };
    return { path: `${unit.out.replace(/\.yml$/, '')}/${id}.yml`, manifest };
  });
  for (const { path } of manifests) needs.workflows.add(path);
  context.needs.set(unit, needs);
  return { manifests, about: [...(description === undefined ? [] : [description]), ...about] };
}

/** `metadata` of an agent: what all the manifests that it imports declare. */
export function metadataOf(units: readonly Unit[]): JsonObject {
  const fields: Record<string, Json> = {};
  const injection: Record<string, Json> = {};
  for (const { value } of units) {
    Object.assign(fields, mapOf(value.fields));
    const { method, template } = mapOf(value.injection);
    if (method !== undefined) injection.method = method;
    // `{status}` of a page is the value of the field.
    const put = (braces: string, name: string) => (name in fields ? `{values.${name}}` : braces);
    if (template !== undefined) injection.template = literal(String(template)).replace(/\{(\w+)\}/g, put);
  }
  return given({ fields, injection });
}
