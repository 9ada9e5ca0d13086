/** What the shell prints: tables, JSON, progress bars and live panels. Nothing here talks to a cluster. */
package io.kagami.cli.view;
