import type { Json } from '../../../kernel/json.ts';
import type { Issue } from '../../issue.ts';
import type { ManifestKind } from '../kinds.ts';
import { checkAgent } from './check-agent.ts';
import { checkArtifact } from './check-artifact.ts';
import { checkRelic } from './check-relic.ts';
import { checkTool } from './check-tool.ts';
import { checkWorkflow } from './check-workflow.ts';
import { type DocumentNode, documentNode } from './document-node.ts';

const CHECKS: Readonly<Record<ManifestKind, (document: DocumentNode) => readonly Issue[]>> = {
  Agent: checkAgent,
  Tool: checkTool,
  Relic: checkRelic,
  Artifact: checkArtifact,
  Workflow: checkWorkflow,
};

/** What is wrong across one document, beside what its schema says of each place. */
export const checkDocument = (kind: ManifestKind, document: Json): readonly Issue[] =>
  CHECKS[kind](documentNode(document));
