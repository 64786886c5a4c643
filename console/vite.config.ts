import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { firstLoad } from './first-load.ts';

/** Where `telltale dev` listens while the console itself is worked on: `npm run dev -w console`. */
const SERVER = 'http://127.0.0.1:4800';
const OURS = ['/sessions', '/runs', '/reviews', '/artifacts', '/agents', '/workflows', '/memory', '/events'];
const MORE = ['/notifications', '/audit', '/tokens', '/whoami', '/healthz', '/readyz', '/streams'];

export default defineConfig({
  base: './',
  plugins: [react(), tailwind(), firstLoad()],
  build: { outDir: '../telltale/web', emptyOutDir: true, target: 'es2023', chunkSizeWarningLimit: 600 },
  // The server answers only pages of its own.
  server: {
    proxy: Object.fromEntries(
      [...OURS, ...MORE].map((path) => [
        path,
        { target: SERVER, changeOrigin: true, headers: { origin: SERVER } },
      ]),
    ),
  },
});
