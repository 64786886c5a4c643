import type { TaskKind } from '../task.ts';
import { CHAT } from './chat.ts';
import { FEEDS } from './feeds.ts';
import { FIX } from './fix.ts';
import { GUIDED } from './guided.ts';
import { RESEARCH } from './research.ts';

export const TASKS: readonly TaskKind[] = [FIX, RESEARCH, GUIDED, FEEDS, CHAT];
