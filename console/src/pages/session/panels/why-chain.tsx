import { Link } from 'wouter';
import { useLoaded } from '../../../data/use-loaded.ts';
import { cx } from '../../../ui/class-names.ts';
import { ErrorState } from '../../../ui/error-state.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { Loading } from '../../../ui/loading.tsx';
import { type WhyLink, whyStory } from '../model/why-story.ts';

export interface WhyChainViewProps {
  /** The session or run of the event. */
  readonly id: string;
  readonly seq: number;
  /** Shows another event of the same log. */
  readonly select: (seq: number) => void;
}

/** The chain from an event to its first cause, across logs. */
export function WhyChainView({ id, seq, select }: WhyChainViewProps) {
  const chain = useLoaded(`${id} ${seq}`, (client, signal) => client.why(id, seq, { signal }));
  if (chain.kind === 'loading') return <Loading label="Asking why" rows={2} className="p-0" />;
  if (chain.kind === 'failed')
    return (
      <ErrorState title="Why this happened could not be read." error={chain.error} onRetry={chain.reload} />
    );
  const { summary, links, origin } = whyStory(chain.value);
  return (
    <section aria-label="Why this happened" className="rounded-lg border border-line bg-canvas p-3">
      <h3 className="mb-1 flex items-center gap-1.5 text-small font-semibold">
        <Icon name="why" size={14} className="text-accent" />
        Why
      </h3>
      <p className="text-body break-words">{summary}</p>
      <ol className="mt-2.5 flex flex-col">
        {links.map((link, index) => (
          <WhyStep key={`${link.stream} ${link.seq}`} {...{ id, link, select }} isFirst={index === 0} />
        ))}
        <li className="flex gap-2 pl-[3px] text-small text-ink-faint">
          <Icon name="dot" size={12} className="mt-[3px]" />
          {origin}
        </li>
      </ol>
    </section>
  );
}

interface WhyStepProps {
  /** The log of the page. */
  readonly id: string;
  readonly link: WhyLink;
  readonly isFirst: boolean;
  readonly select: (seq: number) => void;
}

/** One link of the chain. An event of the same log is selected; an event of another log is a link to its page. */
function WhyStep({ id, link, isFirst, select }: WhyStepProps) {
  const { stream, seq, clause, isRun, isElsewhere } = link;
  const place = 'shrink-0 font-mono text-micro text-accent hover:underline';
  const page = isRun
    ? `/runs/${encodeURIComponent(stream)}?event=${seq}`
    : `/sessions/${encodeURIComponent(stream)}?at=${seq}`;
  return (
    <li className="relative flex gap-2 pb-2 pl-1 text-small">
      <span aria-hidden="true" className="absolute top-2 bottom-0 left-[8.5px] w-px bg-line" />
      <span
        aria-hidden="true"
        className={cx(
          'relative mt-[5px] size-2.5 shrink-0 rounded-full border-2',
          isFirst ? 'border-accent bg-accent' : 'border-line-strong bg-surface',
        )}
      />
      <span className="min-w-0 flex-1 break-words">
        {isFirst ? null : <span className="text-ink-faint">because </span>}
        {clause}
        {isElsewhere ? (
          <span className="text-ink-faint">
            {' '}
            (in {isRun ? 'the run' : 'the session'} {stream})
          </span>
        ) : null}
      </span>
      {stream === id ? (
        <button type="button" onClick={() => select(seq)} className={place}>
          event {seq}
        </button>
      ) : (
        <Link href={page} className={place}>
          event {seq}
        </Link>
      )}
    </li>
  );
}
