package io.kagami.cli;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

/** Says why a file could not be used; the exceptions of several cases have the path alone for a message. */
final class FileReason {
    private FileReason() {}

    static String of(IOException failure) {
        if (failure instanceof NoSuchFileException) {
            return "there is no such file or directory";
        }
        if (failure instanceof AccessDeniedException) {
            return "permission denied";
        }
        if (failure instanceof FileAlreadyExistsException) {
            return "a file is in the way";
        }
        if (failure instanceof FileSystemException of && of.getReason() != null) {
            return of.getReason();
        }
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }
}
