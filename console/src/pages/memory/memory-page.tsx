import { toRuntimeError } from '../../../../telltale/src/lib/errors.ts';
import { isJsonObject, type JsonObject } from '../../../../telltale/src/lib/json.ts';
import { useReadable } from '../../data/readable.ts';
import { useData } from '../../data/use-data.ts';
import { useKept } from '../../data/use-kept.ts';
import { type Loaded, useLoaded } from '../../data/use-loaded.ts';
import { Page } from '../../shell/page.tsx';
import { Code } from '../../ui/code.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Loading } from '../../ui/loading.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { MemorySearch } from './memory-search.tsx';

/** What agents know about their folders, and what sessions learned there. */
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

/** How many agents are asked whether they have a graph. */
const MAX_AGENTS = 60;

interface AgentMemory {
  readonly agent: string;
  readonly stats: JsonObject;
}

/** The agents with a knowledge graph, and the size of each graph. */
function useMemories(): Loaded<readonly AgentMemory[]> {
  const agents = useReadable(useData().agents);
  const names =
    agents.kind === 'ready' ? agents.value.filter(({ usable }) => usable).map(({ name }) => name) : undefined;
  const loaded = useLoaded(`memories ${JSON.stringify(names ?? null)}`, async (client, signal) => {
    const asked = (names ?? []).slice(0, MAX_AGENTS).map(async (agent): Promise<readonly AgentMemory[]> => {
      // Read the manifest first, so that the page does not fill up with meaningless errors.
      const { manifest } = await client.agent(agent, { signal });
      if (!isJsonObject(manifest?.memory)) return [];
      try {
        return [{ agent, stats: await client.memoryStats(agent, { signal }) }];
      } catch (thrown) {
        if (toRuntimeError(thrown).code === 'no_memory') return [];
        throw thrown;
      }
    });
    return (await Promise.all(asked)).flat();
  });
  if (agents.kind === 'failed') return { kind: 'failed', error: agents.error, reload: loaded.reload };
  return names === undefined ? { kind: 'loading', reload: loaded.reload } : loaded;
}

const COUNTS = [
  ['files', 'Files'],
  ['symbols', 'Symbols'],
  ['imports', 'Imports'],
  ['calls', 'Calls'],
  ['facts', 'Facts'],
  ['staleFacts', 'of them stale'],
  ['sessions', 'Sessions'],
] as const;

/** The contents of a graph in one line. */
function MemoryStats({ stats }: { readonly stats: JsonObject }) {
  const languages = isJsonObject(stats.languages) ? Object.entries(stats.languages) : [];
  const notes = isJsonObject(stats.notes) ? Object.entries(stats.notes) : [];
  return (
    <dl className="flex flex-wrap items-center gap-x-4 gap-y-1 text-small text-ink-soft [&_dd]:font-medium [&_dd]:text-ink [&_dd]:tabular-nums [&_div]:flex [&_div]:gap-1.5 [&_dt]:text-ink-faint">
      <div className="min-w-0">
        <dt>Folder</dt>
        <dd className="font-mono break-all">{String(stats.folder ?? '')}</dd>
      </div>
      {COUNTS.map(([key, label]) =>
        typeof stats[key] === 'number' && (key !== 'staleFacts' || stats[key] > 0) ? (
          <div key={key}>
            <dt>{label}</dt>
            <dd>{stats[key].toLocaleString('en')}</dd>
          </div>
        ) : null,
      )}
      {languages.length === 0 ? null : (
        <div>
          <dt>Languages</dt>
          <dd>{languages.map(([name, count]) => `${name} ${String(count)}`).join(', ')}</dd>
        </div>
      )}
      {notes.length === 0 ? null : (
        <div>
          <dt>Not read whole</dt>
          <dd>{notes.map(([why, count]) => `${String(count)} ${why.replaceAll('_', ' ')}`).join(', ')}</dd>
        </div>
      )}
      {typeof stats.walkedAtMs === 'number' ? (
        <div>
          <dt>Last looked at</dt>
          <dd>
            <RelativeTime at={stats.walkedAtMs} />
          </dd>
        </div>
      ) : null}
    </dl>
  );
}
