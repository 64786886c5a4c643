import { useKept } from '../../data/use-kept.ts';
import { Page } from '../../shell/page.tsx';
import { Code } from '../../ui/code.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { MemorySearch } from './memory-search.tsx';
import { MemoryStats } from './memory-stats.tsx';
import { useMemories } from './use-memories.ts';

/** What agents know of their folders, and what sessions learned there. */
export function MemoryPage() {
  const memories = useMemories();
  const [wanted, setWanted] = useKept('memory.agent', '');
  if (memories.kind !== 'ready')
    return (
      <Page title="Memory">
        {memories.kind === 'loading' ? (
          <Loading label="Looking for knowledge graphs" />
        ) : (
          <ErrorState
            title="The graphs could not be read."
            error={memories.error}
            onRetry={memories.reload}
          />
        )}
      </Page>
    );
  const chosen = memories.value.find(({ agent }) => agent === wanted) ?? memories.value[0];
  if (chosen === undefined)
    return (
      <Page title="Memory">
        <EmptyState icon="memory" title="No agent here has a memory.">
          <p className="mb-2">
            A knowledge graph holds what the files of a folder define, import and call, and what sessions
            learned about them. Give an agent one in its manifest:
          </p>
          <Code text={'memory:\n  graph: .'} className="text-left" />
        </EmptyState>
      </Page>
    );
  return (
    <Page
      title="Memory"
      actions={
        memories.value.length === 1 ? (
          <span className="text-ink-soft">of {chosen.agent}</span>
        ) : (
          <select
            aria-label="Agent"
            value={chosen.agent}
            onChange={(event) => setWanted(event.target.value)}
            className="h-8 max-w-48 rounded-md border border-line bg-surface px-2 hover:border-line-strong"
          >
            {memories.value.map(({ agent }) => (
              <option key={agent}>{agent}</option>
            ))}
          </select>
        )
      }
    >
      <MemoryStats stats={chosen.stats} />
      <MemorySearch key={chosen.agent} agent={chosen.agent} onAnswer={memories.reload} />
    </Page>
  );
}
