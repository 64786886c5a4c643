import type { Issue } from '../../issue.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** An artifact without methods could decide nothing. */
export function checkArtifact(artifact: DocumentNode): readonly Issue[] {
  const methods = artifact.at('methods');
  if (methods.value === undefined || methods.entries().length > 0) return [];
  return [
    errorAt(methods, 'missing', 'An Artifact needs at least one method.', {
      hint: 'Write "methods: { should_continue: { description: … } }".',
      at: 'key',
    }),
  ];
}
