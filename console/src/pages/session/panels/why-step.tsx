import { Link } from 'wouter';
import { cx } from '../../../ui/class-names.ts';
import type { WhyLink } from '../model/why-story.ts';

export interface WhyStepProps {
  /** The log that is looked at. */
  readonly id: string;
  readonly link: WhyLink;
  readonly isFirst: boolean;
  readonly select: (seq: number) => void;
}

/** One link of the chain. An event of the same log is selected; one of another is a link to its page. */
export function WhyStep({ id, link, isFirst, select }: WhyStepProps) {
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
