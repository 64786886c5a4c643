import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { isModelRef } from '../model-ref.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** Short names of models that the agent does not declare. */
export function checkModels(agent: DocumentNode): readonly Issue[] {
  const names = agent
    .at('models')
    .entries()
    .map(([name]) => name);
  const used = [
    ...agent
      .at('prompts')
      .entries()
      .map(([, prompt]) => prompt.at('model')),
    ...agent
      .at('context_feeds')
      .items()
      .filter((feed) => feed.at('source').at('type').value === 'llm')
      .map((feed) => feed.at('source').at('params').at('model')),
  ];
  return used.flatMap((place) => {
    const name = place.text();
    if (name === undefined || isModelRef(name) || names.includes(name) || name.includes('$')) return [];
    const hint = `${suggest(name, names, 'Names in "models"')} Or write "provider/model".`;
    return [errorAt(place, 'unknown_model', `There is no model "${name}" in "models".`, { hint })];
  });
}
