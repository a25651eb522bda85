import { defineConfig } from 'vitest/config';

// KEDGE_SERVER=http://127.0.0.1:7878 npm run dev: the page from source, the data from that server.
const server = process.env['KEDGE_SERVER'];

export default defineConfig({
  base: './',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: { target: 'es2022', assetsInlineLimit: 0, chunkSizeWarningLimit: 400 },
  server: server ? { proxy: { '/api': server, '/health': server } } : {},
  test: { include: ['src/**/*_test.ts'] },
});
