import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useMedia } from '../../../ui/use-media.ts';
import type { Change } from '../model/field-history.ts';
import { useSessionView } from '../session-view.ts';

export interface NumberChartProps {
  readonly field: string;
  readonly changes: readonly Change[];
  readonly until: number;
}

const HEIGHT = 120;

/** A numeric field over the time since the session started. A value lasts until the next one. */
export function NumberChart({ field, changes, until }: NumberChartProps) {
  const { model } = useSessionView();
  const isDark = useMedia('(prefers-color-scheme: dark)');
  const frame = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const { start } = model.waterfall;
  const points = changes.filter(({ to }) => typeof to === 'number');
  const xs = [...points.map(({ at }) => (at - start) / 1_000), (until - start) / 1_000];
  const ys = [...points.map(({ to }) => to as number), (points.at(-1)?.to as number | undefined) ?? 0];
  const latest = useRef<uPlot.AlignedData>([xs, ys]);
  latest.current = [xs, ys];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme's colors are read from the page, which `isDark` changes.
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const plot = new uPlot(optionsOf(field, element), latest.current, element);
    chart.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      chart.current = undefined;
    };
  }, [field, isDark]);
  useEffect(() => chart.current?.setData(latest.current));
  const last = points.at(-1)?.to;
  return (
    <figure className="min-w-0">
      <figcaption className="mb-1 flex items-baseline gap-2 text-small font-semibold">
        {field}
        <span className="font-normal text-ink-soft tabular-nums">{typeof last === 'number' ? last : ''}</span>
      </figcaption>
      <div
        ref={frame}
        role="img"
        aria-label={`${field}: ${points
          .slice(-20)
          .map(({ to }) => String(to))
          .join(', ')}`}
        className="min-w-0"
      />
    </figure>
  );
}

function optionsOf(field: string, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const ink = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: ink('--ink-faint'),
    grid: { stroke: ink('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { x: { time: false } },
    axes: [
      { ...axis, values: (_, splits) => splits.map((second) => `${second} s`) },
      { ...axis, size: 36 },
    ],
    series: [
      {},
      {
        label: field,
        stroke: ink('--accent'),
        width: 2,
        fill: ink('--accent-soft'),
        ...(uPlot.paths.stepped === undefined ? {} : { paths: uPlot.paths.stepped({ align: 1 }) }),
        points: { show: false },
      },
    ],
  };
}
